import { createPrivateKey, X509Certificate } from 'node:crypto'
import { openAcmeClient } from '../../../../src/tls/acme/client.ts'
import { AcmeError } from '../../../../src/tls/acme/error.ts'
import type { AcmeResponse } from '../../../../src/tls/acme/http.ts'
import { selfSigned, signingRequest } from '../../../../src/tls/x509.ts'
import { bytesOf, JSON_TOKENS } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const CA = 'https://ca.test'
const name = 'mx.box.test'
const keyAndCertificate = () =>
  selfSigned({ hostname: name, now: new Date(), serial: Buffer.from([1]) })
/** For `$issued` and `$foreign` in a response: they differ from process to process, inputs do not. */
const [issued, foreign] = [keyAndCertificate(), keyAndCertificate()]
const key = createPrivateKey(issued)
const csr = signingRequest(name, key)
const proof = { type: 'http-01' as const, publish: async () => async () => {} }

/** The responses of a CA, one per line: status, headers and body, as JSON. */
const RESPONSES: Record<string, [status: number, headers: object, body: unknown]> = {
  '/dir': [
    200,
    {},
    { newNonce: `${CA}/nonce`, newAccount: `${CA}/account`, newOrder: `${CA}/order` },
  ],
  '/nonce': [200, {}, {}],
  '/account': [201, { location: `${CA}/account/1` }, {}],
  '/order': [
    201,
    { location: `${CA}/order/1` },
    { status: 'pending', authorizations: [`${CA}/authz`], finalize: `${CA}/finalize` },
  ],
  '/authz': [
    200,
    { 'retry-after': '1' },
    { status: 'pending', challenges: [{ type: 'http-01', url: `${CA}/challenge`, token: 'x' }] },
  ],
  '/challenge': [400, {}, { type: 'urn:ietf:params:acme:error:badNonce', detail: 'no' }],
  '/order/1': [200, {}, { status: 'ready', error: { type: 'about:blank', detail: 'x' } }],
  '/finalize': [200, {}, { status: 'valid', certificate: `${CA}/cert` }],
  '/cert': [200, {}, '$issued'],
}
const lines = Object.entries(RESPONSES).map(([path, given]) => `${path} ${JSON.stringify(given)}`)
const valid = lines
  .join('\n')
  .replace('"status":"pending","challenges"', '"status":"valid","challenges"')

/** Directory, nonce, account, order and authorization. */
const ORDERED = 5
const MAX_RESPONSES = 50

/** A certificate from a CA that answers anything. */
export const target: FuzzTarget = {
  seeds: bytesOf([lines.join('\n'), valid, valid.replace('$issued', '$foreign')]),
  tokens: [
    ...JSON_TOKENS,
    ...(
      '{"toString":1,"valueOf":1}|"__proto__":|\n|"status":|"valid"|"invalid"|"ready"|"pending"|https://|http://|"token":|/cert |' +
      '-----BEGIN CERTIFICATE-----|$issued|$foreign|\\n|\\u0000|"replay-nonce":|"retry-after":|"location":'
    ).split('|'),
  ],
  maxBytes: 4 * 1024,
  async run(input) {
    const responses = responsesIn(input.toString())
    const end = new AbortController()
    // Everything but waiting is done before that.
    const immediate = setImmediate(() => end.abort())
    let requests = 0
    const send = async (url: string): Promise<AcmeResponse> => {
      requests += 1
      const [status, headers, body] = readResponse(responses.get(new URL(url).pathname) ?? '')
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const pem = (text ?? '').replaceAll('$issued', issued).replaceAll('$foreign', foreign)
      return { status, headers: { 'replay-nonce': 'n', ...headers }, body: pem }
    }
    try {
      const client = await openAcmeClient({
        send,
        directory: `${CA}/dir`,
        accountKey: key,
        signal: end.signal,
      })
      const account = await client.register('ann@box.test')
      const leaf = new X509Certificate(await client.obtain({ account, name, key, csr, proof }))
      check(leaf.checkPrivateKey(key), 'a certificate of another key')
      check(leaf.checkHost(name) !== undefined, 'a certificate of another name')
    } catch (error) {
      const isStopped = end.signal.aborted && error instanceof Error && error.name === 'AbortError'
      if (!isStopped && !(error instanceof AcmeError)) throw error
      check(isStopped || error.message.length <= 500, 'a long message')
    } finally {
      clearImmediate(immediate)
    }
    return requests >= ORDERED
  },
}

/** Response by path, as written. */
function responsesIn(text: string): Map<string, string> {
  const lines = text.split('\n', MAX_RESPONSES).map((line) => line.split(/ (.*)/s))
  return new Map(lines.map(([path = '', response = '']) => [path, response]))
}

function readResponse(text: string): [number, Record<string, string>, unknown] {
  try {
    const [status, headers, body] = JSON.parse(text)
    const given = Object.entries(headers).map(([name, value]) => [name, String(value)])
    return [Number(status), Object.fromEntries(given), body]
  } catch {
    return [404, {}, {}]
  }
}
