import { type Static, Type } from 'typebox'
import { secretHash } from '../../../core/id.ts'
import { Problem, type ProblemCode } from '../../../core/problem.ts'
import { isMailboxFull, type Session } from '../../../core/session.ts'
import { listMail } from '../../../service/mail/check-mail.ts'
import { scannerForClient } from '../../../service/mail/code-scanner.ts'
import { takeRate } from '../../../service/rates.ts'
import { createSession } from '../../../service/sessions/create-session.ts'
import { sessionDomains } from '../../../service/sessions/domains.ts'
import { extendSession } from '../../../service/sessions/extend-session.ts'
import { endSession, liveSession } from '../../../service/sessions/session.ts'
import { DEFAULT_LIMIT } from '../../api/schemas.ts'
import { problemStatus } from '../../server/problem-response.ts'
import { empty, type HttpResponse } from '../../server/response.ts'
import type { HttpRequest, Route } from '../../server/route.ts'
import type { PlainWords } from '../plain-words/en.ts'
import { expiredTokenCookie, tokenCookie } from './csrf.ts'
import { deleteAddressPage, inboxPage } from './inbox.ts'
import { plainMailRoutes } from './mail.ts'
import { errorPage, INBOX_PATH } from './page.ts'
import { mailboxRoute, type PlainRequest, plainRoute } from './route.ts'
import { startPage } from './start.ts'

const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const proof = Type.Optional(Type.String({ description: 'Shows that the form is of our page.' }))

const createInput = Type.Object({
  prefix: Type.Optional(Type.String()),
  domain_id: Type.Optional(Type.Integer({ minimum: 0 })),
})

const inboxInput = Type.Object({
  look: flag('0: does not look for mail by itself.'),
  first: flag('After the button: the cookie is new.'),
  still: flag('After the button: there was an address already.'),
  ended: flag('After the address was ended.'),
})

/** The core of the product without scripts: a cookie holds the token, forms do what buttons do elsewhere. */
export const plainRoutes: readonly Route[] = [
  plainRoute({
    method: 'GET',
    path: '/plain',
    title: 'Inbox without scripts',
    about: 'The mail of the address that this browser has, or where to get one. It makes none.',
    input: inboxInput,
    answer: showInbox,
  }),
  plainRoute({
    method: 'POST',
    path: '/plain',
    title: 'Get an address',
    about: 'Gives the browser an address, unless it has one that lives.',
    input: createInput,
    rate: 'createSession',
    answer: getAddress,
  }),
  mailboxRoute({
    method: 'POST',
    path: '/plain/extend',
    title: 'More time',
    about: 'Moves the end of the address.',
    input: Type.Object({ proof }),
    async answer(_input, { deps, call, token }) {
      if (call.client !== undefined) await takeRate(deps, 'extendSession', secretHash(token))
      const session = await extendSession(deps, token, undefined)
      return redirect(INBOX_PATH, sessionCookie(deps.now(), call.secure(), { session, token }))
    },
  }),
  mailboxRoute({
    method: 'GET',
    path: '/plain/end',
    title: 'End the address',
    about: 'Asks whether the address is to end.',
    input: Type.Object({}),
    async answer(_input, { deps, site, token }) {
      return deleteAddressPage(site, await liveSession(deps, token), token)
    },
  }),
  mailboxRoute({
    method: 'POST',
    path: '/plain/end',
    title: 'End the address',
    about: 'Ends the address now.',
    input: Type.Object({ proof }),
    async answer(_input, { deps, call, token }) {
      await endSession(deps, token)
      return redirect('/plain?ended=1', expiredTokenCookie(call.secure()))
    },
  }),
  ...plainMailRoutes,
]

async function showInbox(
  input: Static<typeof inboxInput>,
  visit: PlainRequest,
): Promise<HttpResponse> {
  const { deps, call, site, token } = visit
  if (token === undefined) return await showStart(input, visit)
  const found = await liveSession(deps, token)
  // Now that the cookie has come back, the address of the page need not speak of it.
  if (input.first) return redirect(INBOX_PATH)
  if (call.client !== undefined) await takeRate(deps, 'checkMail', String(found.id))
  const page = { sinceId: 0, limit: DEFAULT_LIMIT }
  const { session, messages } = await listMail(
    { ...deps, codes: scannerForClient(deps.codes, call.client) },
    { token, session: found },
    page,
  )
  return inboxPage(site, {
    session,
    token,
    messages,
    now: deps.now(),
    full: isMailboxFull(session, deps.mailbox),
    looks: input.look ?? true,
    still: input.still ?? false,
  })
}

async function showStart(
  input: Static<typeof inboxInput>,
  visit: PlainRequest,
): Promise<HttpResponse> {
  const { call, site } = visit
  if (input.first) return errorPage(site, { kind: 'cookie', status: 400 })
  if (input.look && !isFromOtherSite(call)) return errorPage(site, { kind: 'over', status: 401 })
  return await renderStart(visit, { notice: input.ended ? site.locale.say('end_done') : undefined })
}

/** By a page of another site: then the browser keeps its cookie to itself. */
function isFromOtherSite({ headers }: HttpRequest): boolean {
  const from = headers['sec-fetch-site']
  return from === 'cross-site' || from === 'same-site'
}

/** What can be wrong with the name or the domain that somebody chose. */
const NAME_ERRORS: Partial<Record<ProblemCode, keyof PlainWords>> = {
  address_taken: 'taken',
  invalid_prefix: 'invalid',
  reserved_prefix: 'reserved',
  unknown_domain: 'domain_gone',
}

async function getAddress(
  input: Static<typeof createInput>,
  visit: PlainRequest,
): Promise<HttpResponse> {
  const { deps, call, site } = visit
  const { prefix, domain_id: domainId } = input
  // One at a time: a second would take the first away, and nobody could open it any more.
  if (await hasLiveSession(visit)) return redirect('/plain?still=1')
  try {
    const made = await createSession(deps, { prefix, domainId })
    return redirect('/plain?first=1', sessionCookie(deps.now(), call.secure(), made))
  } catch (error) {
    const why = error instanceof Problem ? NAME_ERRORS[error.code] : undefined
    if (!(error instanceof Problem) || !why) throw error
    const refused = { why: site.locale.say(why), prefix: prefix ?? '', domainId }
    return await renderStart(visit, { refused: { ...refused, status: problemStatus[error.code] } })
  }
}

async function hasLiveSession({ deps, token }: PlainRequest): Promise<boolean> {
  if (token === undefined) return false
  try {
    await liveSession(deps, token)
    return true
  } catch (error) {
    if (error instanceof Problem && problemStatus[error.code] === 401) return false
    throw error
  }
}

/** Where an address is to be had. */
async function renderStart(
  { deps, call, site, facts }: PlainRequest,
  told: Pick<Parameters<typeof startPage>[1], 'notice' | 'refused'>,
): Promise<HttpResponse> {
  return startPage(site, {
    domains: await sessionDomains(deps),
    life: facts.life,
    ...told,
    isFromOtherSite: isFromOtherSite(call),
  })
}

function sessionCookie(
  now: Date,
  secure: boolean,
  { session, token }: { session: Session; token: string },
) {
  const seconds = Math.ceil((session.expiresAt.getTime() - now.getTime()) / 1000)
  return tokenCookie(secure, token, seconds)
}

function redirect(location: string, cookie?: string): HttpResponse {
  return empty(303, { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) })
}
