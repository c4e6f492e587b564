import { acceptsSessions, hostOf, localOf, parseAddress } from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import { checkRate, recordFailedAuth } from '../../http/server/rates.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import type { MailboxId, Session } from '../../mail/rules/session.ts'
import { createSession } from '../../mail/sessions/create-session.ts'
import type { DoorRouteDeps } from '../deps.ts'
import { addressFault, invalidAddress, unknownDomain } from './problems.ts'

interface Credentials {
  address: string
  password: string
}

/** A session with a password. Nobody gets its own token. */
export async function createAccount(
  deps: DoorRouteDeps,
  { address: text, password }: Credentials,
  request: HttpRequest,
): Promise<Session> {
  const address = parseAddress(text)
  if (!address) throw invalidAddress()
  const host = hostOf(address)
  const keyId = request.key?.id
  // By its own name: an address at a wildcard domain would get another host.
  const domain = await deps.store.findDomain(host)
  if (!domain || !acceptsSessions(domain, keyId)) throw unknownDomain(host)
  // Before the address is taken: the queue may be full.
  const hashed = await deps.passwords.hash({ password, ...ownerOf(request) })
  try {
    const created = await createSession(deps, { prefix: localOf(address), domain: host, keyId })
    const { session, token } = created
    const sessionToken = secretHash(token)
    try {
      await deps.store.addDoorAccount({ sessionToken, password: hashed })
    } catch (error) {
      // It would take mail that nobody can read.
      await deps.store.endSession(session.id, deps.now(), sessionToken)
      throw error
    }
    return session
  } catch (error) {
    throw addressFault(error)
  }
}

/** A new token for the account. A wrong password and an unknown address are the same, and cost the same. */
export async function signIn(
  deps: DoorRouteDeps,
  { address: text, password }: Credentials,
  request: HttpRequest,
): Promise<{ token: string; mailbox: MailboxId }> {
  const { store } = deps
  const address = parseAddress(text)
  // For the account also guesses of a local client: it may be a proxy that hides its clients.
  const client = request.client === undefined ? [] : [request.client]
  const counted = deps.rateLimits && address ? [...client, `account ${address}`] : client
  for (const who of counted) await checkRate(deps, 'wrongPassword', who)
  const account = address && (await store.findDoorAccount(address, deps.now()))
  const given = { password, ...ownerOf(request) }
  const isRight = await deps.passwords.isRight(given, account?.password)
  if (!account || !isRight) {
    for (const who of counted) await recordFailedAuth(deps, 'wrongPassword', who)
    throw wrongCredentials()
  }
  // Again: of many guesses at once, all may have passed the first check.
  for (const who of counted) await checkRate(deps, 'wrongPassword', who)
  const { mailbox, sessionToken } = account
  const token = makeSecretToken(deps.randomBytes(32))
  const added = { hash: secretHash(token), mailbox, sessionToken, now: deps.now() }
  if (!(await store.addDoorToken(added))) throw wrongCredentials()
  return { token, mailbox }
}

function wrongCredentials(): Problem {
  return new Problem('invalid_token', 'Invalid credentials.')
}

function ownerOf({ client, sourceAddress, signal }: HttpRequest) {
  return { source: client ?? sourceAddress(), signal: signal() }
}

/** With these, the use cases of mail take tokens of accounts instead of tokens of sessions. */
export function withAccountTokens(deps: DoorRouteDeps): DoorRouteDeps {
  const { store } = deps
  // No session has an empty hash.
  const ofSession = async (hash: string) => (await store.findDoorToken(hash)) ?? ''
  return {
    ...deps,
    store: {
      ...store,
      findSession: async (hash) => await store.findSession(await ofSession(hash)),
      deleteMessages: async (mailbox, ids, hash = '') =>
        await store.deleteMessages(mailbox, ids, await ofSession(hash)),
      endSession: async (mailbox, now, hash = '') =>
        await store.endSession(mailbox, now, await ofSession(hash)),
    },
  }
}
