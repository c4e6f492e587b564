import { openAcmeClient } from '../../../../src/tls/acme/client.ts'
import { AcmeError } from '../../../../src/tls/acme/error.ts'
import type { AcmeResponse } from '../../../../src/tls/acme/http.ts'
import { generateKey, selfSigned, signingRequest } from '../../../../src/tls/x509.ts'
import { bytesOf, JSON_TOKENS } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const CA = 'https://ca.test'
const key = generateKey()
const name = 'mx.box.test'
const csr = signingRequest(name, key)
const chain = selfSigned({ hostname: name, now: new Date(), serial: Buffer.from([1]) })
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
  '/cert': [200, {}, chain],
}
const lines = Object.entries(RESPONSES).map(([path, given]) => `${path} ${JSON.stringify(given)}`)
const valid = lines.map((line) =>
  line.replace('"status":"pending","challenges"', '"status":"valid","challenges"'),
)

/** A certificate from a CA that answers anything. */
export const target: FuzzTarget = {
  seeds: bytesOf([lines.join('\n'), valid.join('\n')]),
  tokens: [
    ...JSON_TOKENS,
    ...['{"toString":1,"valueOf":1}', '"__proto__":', '\n'],
    ...[
      '"status":',
      '"valid"',
      '"invalid"',
      '"ready"',
      '"pending"',
      'https://',
      'http://',
      '"token":',
      '/cert ',
    ],
    ...[
      '-----BEGIN CERTIFICATE-----',
      '\\n',
      '\\u0000',
      '"replay-nonce":',
      '"retry-after":',
      '"location":',
    ],
  ],
  maxBytes: 4 * 1024,
  hangMs: 5_000,
  async run(input) {
    const responses = responsesIn(input.toString())
    // In place of the clock: a client that waits is stopped.
    const end = new AbortController()
    const timer = setTimeout(() => end.abort(), 20)
    const send = async (url: string): Promise<AcmeResponse> => {
      end.signal.throwIfAborted()
      const [status, headers, body] = responses.get(new URL(url).pathname) ?? [404, {}, {}]
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return { status, headers: { 'replay-nonce': 'n', ...headers }, body: text ?? '' }
    }
    try {
      const client = await openAcmeClient({
        send,
        directory: `${CA}/dir`,
        accountKey: key,
        signal: end.signal,
      })
      const account = await client.register('ann@box.test')
      const found = await client.obtain({ account, name, key, csr, proof })
      check(found === '', 'a certificate of another key')
    } catch (error) {
      if (!end.signal.aborted && !(error instanceof AcmeError)) throw error
      if (error instanceof AcmeError) check(error.message.length <= 500, 'a long message')
    } finally {
      clearTimeout(timer)
    }
  },
}

function responsesIn(text: string): Map<string, [number, Record<string, string>, unknown]> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const end = line.indexOf(' ')
      try {
        const [status, headers, body] = JSON.parse(line.slice(end + 1))
        const given = Object.entries(headers).map(([name, value]) => [name, String(value)])
        return [[line.slice(0, end), [Number(status), Object.fromEntries(given), body]]] as const
      } catch {
        return []
      }
    }),
  ) as Map<string, [number, Record<string, string>, unknown]>
}
