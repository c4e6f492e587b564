import { createPublicKey, hash, type KeyObject, sign } from 'node:crypto'

// Requests of RFC 8555 are JSON Web Signatures (RFC 7515) with ES256.

interface ProtectedHeader {
  url: string
  nonce: string
  /** URL of the account; undefined for a new one, which sends its key. */
  kid: string | undefined
}

/** The body of a request. An undefined payload is POST-as-GET. */
export function signedBody(key: KeyObject, header: ProtectedHeader, payload: unknown): string {
  const { url, nonce, kid } = header
  const who = kid === undefined ? { jwk: publicJwk(key) } : { kid }
  const head = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...who }))
  const body = payload === undefined ? '' : base64url(JSON.stringify(payload))
  const signed = Buffer.from(`${head}.${body}`)
  const signature = sign('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
  return JSON.stringify({ protected: head, payload: body, signature })
}

/** What proves to the CA that the holder of the account key controls the name. */
export function keyAuthorization(token: string, key: KeyObject): string {
  return `${token}.${hash('sha256', JSON.stringify(publicJwk(key)), 'base64url')}`
}

/** With its members in the order of RFC 7638. */
function publicJwk(key: KeyObject) {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' })
  return { crv, kty, x, y }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
