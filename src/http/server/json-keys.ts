/** The names that the outermost object of this valid JSON gives more than once. JSON.parse keeps the last of each. */
export function repeatedKeys(text: string): Set<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  let depth = 0
  // Strings are taken whole, so that what stands in them is not read as structure.
  for (const [token, quoted, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (depth === 1 && colon !== undefined) {
      const name: string = JSON.parse(quoted ?? '""')
      if (seen.has(name)) repeated.add(name)
      seen.add(name)
    }
  }
  return repeated
}
