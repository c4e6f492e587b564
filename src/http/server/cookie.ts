/** What a browser is given to keep. */
interface Cookie {
  name: string
  value: string
  path: string
  /** How long it is kept; 0 takes it away. */
  seconds: number
  /** Goes over https alone. */
  secure: boolean
}

/** The value of this cookie in a Cookie header; undefined when there is none. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** A Set-Cookie header of what no script reads and no other site's page sends. */
export function cookieText({ name, value, path, seconds, secure }: Cookie): string {
  const kept = `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
  return secure ? `${kept}; Secure` : kept
}
