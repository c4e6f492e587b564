/** A loopback address configured as a trusted proxy: rate limits can be tested without leaving the machine. */
export const PROXY = '127.0.0.2'
export const PROXY_ENV = { MAYFLY_TRUST_PROXY: PROXY }

let lastClient = 0

/** A client address that no test has used yet. */
export function newClient(): string {
  lastClient += 1
  return `198.51.${100 + Math.trunc(lastClient / 250)}.${1 + (lastClient % 250)}`
}
