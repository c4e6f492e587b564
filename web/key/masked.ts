/** As much of a key as may be seen by who looks over a shoulder: what every key has, and the four that name it. */
export function masked(secret: string): string {
  const shown = /^mf_[a-z]+_.{4}/.exec(secret)?.[0] ?? secret.slice(0, 4)
  return `${shown}${'•'.repeat(8)}`
}
