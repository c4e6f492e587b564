// Every secret is longer.
const START = 12

/** Those of the secrets that stand in the output. One pass: there may be thousands of them, and megabytes of output. */
export function leakedSecrets(output: string, secrets: Iterable<string>): string[] {
  const byStart = Map.groupBy(secrets, (secret) => secret.slice(0, START))
  const leaked = new Set<string>()
  for (let at = 0; at <= output.length - START; at += 1)
    for (const secret of byStart.get(output.slice(at, at + START)) ?? [])
      if (output.startsWith(secret, at)) leaked.add(secret)
  return [...leaked]
}

/** Errors of ours, and warnings of Node.js such as of listeners that leak. */
export function loggedErrors(output: string): string[] {
  return output.split('\n').filter((line) => /"level":"(?:error|fatal)"|^\(node:\d+\) /.test(line))
}
