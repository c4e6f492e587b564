import type { KeyObject } from 'node:crypto'
import type { ChallengeKind } from '../rules.ts'
import { checkedChain } from './chain.ts'
import { AcmeError, acmeProblem, asRecord } from './error.ts'
import type { SendAcme } from './http.ts'
import { keyAuthorization } from './jws.ts'
import {
  type AcmeRequests,
  httpsUrl,
  listIn,
  openAcmeRequests,
  readResource,
  urlIn,
} from './requests.ts'

// The part of ACME (RFC 8555) that obtains a certificate for one host name.

export interface Challenge {
  type: ChallengeKind
  name: string
  token: string
  keyAuthorization: string
}

export interface Proof {
  type: ChallengeKind
  /** Resolves once every server of the name responds to the challenge; returns how to withdraw it. */
  publish(challenge: Challenge): Promise<() => Promise<void>>
}

interface AcmeOptions {
  send: SendAcme
  /** URL of the directory of the CA. */
  directory: string
  accountKey: KeyObject
  signal: AbortSignal
}

export interface AcmeClient {
  /** Registers the account, or finds it: the CA knows it by its key. Returns its URL. */
  register(email: string): Promise<string>
  /** Orders a certificate and proves control of the name. Returns the chain as PEM, checked against name and key. */
  obtain(order: Order): Promise<string>
}

export interface Order {
  /** URL of the account. */
  account: string
  name: string
  key: KeyObject
  csr: Uint8Array
  proof: Proof
}

/** Reads the directory of the CA. */
export async function openAcmeClient(options: AcmeOptions): Promise<AcmeClient> {
  const { send, accountKey } = options
  const what = 'the directory of the CA'
  const { value: directory } = readResource(await send(options.directory, { method: 'GET' }), what)
  const newNonce = urlIn(directory, 'newNonce', what)
  const newAccount = urlIn(directory, 'newAccount', what)
  const newOrder = urlIn(directory, 'newOrder', what)
  const requests = openAcmeRequests({ ...options, newNonce })

  return {
    async register(email) {
      const { headers } = await requests.post(newAccount, {
        what: 'the account',
        payload: { termsOfServiceAgreed: true, contact: [`mailto:${email}`] },
      })
      return urlIn(asRecord(headers), 'location', 'the account')
    },
    obtain: (order) => obtain({ requests, accountKey, newOrder }, order),
  }
}

interface Session {
  requests: AcmeRequests
  accountKey: KeyObject
  newOrder: string
}

const MAX_AUTHORIZATIONS = 5

async function obtain(session: Session, order: Order): Promise<string> {
  const { requests, newOrder } = session
  const { account: kid, name, key, csr } = order
  const what = `the order for ${name}`
  const payload = { identifiers: [{ type: 'dns', value: name }] }
  const created = await requests.post(newOrder, { what, kid, payload })
  const url = urlIn(asRecord(created.headers), 'location', what)
  const { value } = readResource(created, what)
  for (const authorization of listIn(value, 'authorizations').slice(0, MAX_AUTHORIZATIONS)) {
    await authorize(session, httpsUrl(authorization, what), order)
  }
  const ready = await requests.poll(url, { what, kid, until: ['ready', 'valid', 'invalid'] })
  if (ready['status'] === 'invalid') throw acmeProblem(what, ready['error'])
  const finalized = await requests.post(urlIn(value, 'finalize', what), {
    what,
    kid,
    payload: { csr: Buffer.from(csr).toString('base64url') },
  })
  const first = readResource(finalized, what)
  const end = await requests.poll(url, { what, kid, first, until: ['valid', 'invalid'] })
  if (end['status'] === 'invalid') throw acmeProblem(what, end['error'])
  const accept = 'application/pem-certificate-chain'
  const issued = await requests.post(urlIn(end, 'certificate', what), { what, kid, accept })
  return checkedChain(issued.body, { name, key })
}

const ENDED = ['valid', 'invalid', 'deactivated', 'expired', 'revoked']
const TOKEN = /^[A-Za-z0-9_-]{1,128}$/

/** Proves control of the name, unless the CA remembers it. */
async function authorize(
  { requests, accountKey }: Session,
  url: string,
  { account: kid, name, proof }: Order,
): Promise<void> {
  const { type } = proof
  const what = `the authorization of ${name}`
  const { value: found } = readResource(await requests.post(url, { what, kid }), what)
  if (found['status'] === 'valid') return
  const challenge = challengeIn(found, type, what)
  const token = String(challenge['token'])
  if (!TOKEN.test(token)) throw new AcmeError(`${what}: the token is invalid`)
  const authorization = keyAuthorization(token, accountKey)
  const withdraw = await proof.publish({ type, name, token, keyAuthorization: authorization })
  try {
    await requests.post(urlIn(challenge, 'url', what), { what, kid, payload: {} })
    const end = await requests.poll(url, { what, kid, until: ENDED })
    if (end['status'] === 'valid') return
    const { error } = challengeIn(end, type, what)
    throw acmeProblem(`${name}, ${type}`, error ?? { detail: `status ${end['status']}` })
  } finally {
    await withdraw()
  }
}

function challengeIn(
  authorization: Record<string, unknown>,
  type: ChallengeKind,
  what: string,
): Record<string, unknown> {
  const offered = listIn(authorization, 'challenges').map(asRecord)
  const found = offered.find((one) => one['type'] === type)
  if (found) return found
  throw new AcmeError(`${what}: the CA does not offer ${type} (status ${authorization['status']})`)
}
