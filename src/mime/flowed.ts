/** RFC 3676: joins the lines that the sender's program broke, and takes out the blanks it put in. */
export function unflow(text: string, deleteSpace: boolean): string {
  const lines: string[] = []
  let open: { depth: number; pieces: string[] } | undefined
  for (const line of text.split('\n')) {
    const depth = quoteDepth(line)
    const content = line.slice(line[depth] === ' ' ? depth + 1 : depth)
    const flows = content.endsWith(' ') && content !== '-- '
    if (open && open.depth !== depth) open = closeParagraph(lines, open)
    open ??= { depth, pieces: [] }
    open.pieces.push(flows && deleteSpace ? content.slice(0, -1) : content)
    if (!flows) open = closeParagraph(lines, open)
  }
  if (open) closeParagraph(lines, open)
  return lines.join('\n')
}

function closeParagraph(lines: string[], { depth, pieces }: { depth: number; pieces: string[] }) {
  lines.push((depth > 0 ? `${'>'.repeat(depth)} ` : '') + pieces.join(''))
  return undefined
}

function quoteDepth(line: string): number {
  let depth = 0
  while (line[depth] === '>') depth += 1
  return depth
}
