import { Type } from 'typebox'
import type { MailDomain } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { empty, type HttpResponse, json } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { tokenField } from '../../mail/api/schemas.ts'
import type { Session } from '../../mail/rules/session.ts'
import { sessionDomains } from '../../mail/sessions/domains.ts'
import { endSession, liveSession } from '../../mail/sessions/session.ts'
import type { DoorRouteDeps } from '../deps.ts'
import { createAccount, signIn, withAccountTokens } from './accounts.ts'
import {
  BASE,
  collectionResponse,
  hexId,
  PAGE_SIZE,
  parseHexId,
  resourceResponse,
  timeText,
} from './formats.ts'
import { blankField, InvalidFields, openProblem, tokenProblem } from './problems.ts'

const served = ({ config }: DoorRouteDeps) => config.doors.includes('mailtm')

/** Of a route that needs no token. */
const open = { served, renderProblem: openProblem } as const
/** Of one that does. */
export const withToken = { served, renderProblem: tokenProblem } as const

export const pageField = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }))
const credentials = Type.Object({
  address: Type.Optional(Type.String()),
  password: Type.Optional(Type.String({ bodyOnly: true })),
})
const ofAccount = Type.Object({ token: tokenField, id: Type.String() })

export const mailTmAccountRoutes = [
  route({
    ...open,
    method: 'GET',
    path: `${BASE}/domains`,
    input: Type.Object({ page: pageField }),
    async handle({ page = 1 }, deps: DoorRouteDeps, request) {
      const domains = await availableDomains(deps)
      const shown = domains.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
      const members = shown.map((domain) => domainResource(domain))
      const total = domains.length
      return collectionResponse(request, { type: 'Domain', path: '/domains', members, total, page })
    },
  }),
  route({
    ...open,
    method: 'GET',
    path: `${BASE}/domains/{id}`,
    input: Type.Object({ id: Type.String() }),
    async handle({ id }, deps: DoorRouteDeps, request) {
      const domains = await availableDomains(deps)
      const wanted = parseHexId(id)
      const domain = domains.find((one) => one.id === wanted)
      if (!domain) throw new Problem('not_found', 'Not found.')
      return resourceResponse(request, { type: 'Domain', ...domainResource(domain) })
    },
  }),
  route({
    ...open,
    method: 'POST',
    path: `${BASE}/accounts`,
    input: credentials,
    acceptsKey: true,
    rate: 'createSession',
    authenticate: (deps: DoorRouteDeps, request) => deps.findSessionKey(request),
    async handle({ address = '', password = '' }, deps: DoorRouteDeps, request) {
      const given = { address, password }
      const blank = (['address', 'password'] as const).filter((name) => given[name] === '')
      if (blank.length > 0) throw new InvalidFields(blank.map(blankField))
      const session = await createAccount(deps, given, request)
      return accountResponse(deps, session, request, 201)
    },
  }),
  route({
    ...open,
    method: 'POST',
    path: `${BASE}/token`,
    input: credentials,
    rate: 'signIn',
    async handle({ address = '', password = '' }, deps: DoorRouteDeps, request) {
      const missing = address === '' ? 'address' : 'password'
      if (address === '' || password === '') {
        throw new Problem('invalid_parameter', `The key "${missing}" must be provided.`)
      }
      const { token, mailbox } = await signIn(deps, { address, password }, request)
      const id = hexId(mailbox)
      return json({ token, '@id': `/accounts/${id}`, id })
    },
  }),
  route({
    ...withToken,
    method: 'GET',
    path: `${BASE}/me`,
    input: Type.Object({ token: tokenField }),
    async handle({ token }, deps: DoorRouteDeps, request) {
      return accountResponse(deps, await liveSession(withAccountTokens(deps), token), request)
    },
  }),
  route({
    ...withToken,
    method: 'GET',
    path: `${BASE}/accounts/{id}`,
    input: ofAccount,
    async handle({ token, id }, deps: DoorRouteDeps, request) {
      return accountResponse(deps, await ownAccount(deps, token, id), request)
    },
  }),
  route({
    ...withToken,
    method: 'DELETE',
    path: `${BASE}/accounts/{id}`,
    input: ofAccount,
    async handle({ token, id }, deps: DoorRouteDeps) {
      await ownAccount(deps, token, id)
      await endSession(withAccountTokens(deps), token)
      return empty(204, {})
    },
  }),
]

/** An address is at one of them, and not one label below. */
async function availableDomains(deps: DoorRouteDeps): Promise<MailDomain[]> {
  return (await sessionDomains(deps)).filter(({ wildcard }) => !wildcard)
}

// The store does not know since when there is a domain.
const SINCE = timeText(new Date(0))

function domainResource({ id: number, name }: MailDomain) {
  const id = hexId(number)
  const times = { createdAt: SINCE, updatedAt: SINCE }
  const value = { id, domain: name, isActive: true, isPrivate: false, ...times }
  return { path: `/domains/${id}`, value }
}

/** The account of the token; the id of another one is as unknown as any. */
async function ownAccount(deps: DoorRouteDeps, token: string, id: string): Promise<Session> {
  const session = await liveSession(withAccountTokens(deps), token)
  if (hexId(session.id) === id) return session
  throw new Problem('not_found', 'Not found.')
}

function accountResponse(
  { mailbox }: DoorRouteDeps,
  session: Session,
  request: HttpRequest,
  status?: number,
): HttpResponse {
  const id = hexId(session.id)
  const createdAt = timeText(session.createdAt)
  const value = {
    ...{ id, address: session.address, quota: mailbox.maxBytes, used: session.bytes },
    ...{ isDisabled: false, isDeleted: false, createdAt, updatedAt: createdAt },
    retentionAt: timeText(session.expiresAt),
  }
  return resourceResponse(request, { type: 'Account', path: `/accounts/${id}`, value }, status)
}
