import { type Static, Type } from 'typebox'
import { secretHash } from '../../../core/id.ts'
import { Problem, type ProblemCode } from '../../../core/problem.ts'
import { isFull, type Session } from '../../../core/session.ts'
import { listMail } from '../../../service/mail/check-mail.ts'
import { looksOf } from '../../../service/mail/code-lookup.ts'
import { takeRate } from '../../../service/rates.ts'
import { createSession } from '../../../service/sessions/create-session.ts'
import { openDomains } from '../../../service/sessions/domains.ts'
import { endSession } from '../../../service/sessions/end-session.ts'
import { extendSession } from '../../../service/sessions/extend-session.ts'
import { liveSession } from '../../../service/sessions/live-session.ts'
import { USUAL_LIMIT } from '../../api/schemas.ts'
import { empty, type HttpResponse } from '../../server/response.ts'
import type { Call, Route } from '../../server/route.ts'
import { status } from '../../server/status.ts'
import { troublePage } from '../plain-errors.ts'
import { dropToken, keepToken } from '../plain-guard.ts'
import { endPage, inboxPage } from '../plain-inbox.ts'
import { INBOX } from '../plain-page.ts'
import { holderRoute, plainRoute, type Visit } from '../plain-route.ts'
import { startPage } from '../plain-start.ts'
import type { PlainWords } from '../plain-words/en.ts'
import { plainMailRoutes } from './plain-mail.ts'

const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const proof = Type.Optional(Type.String({ description: 'Shows that the form is of our page.' }))

const wish = Type.Object({
  prefix: Type.Optional(Type.String()),
  domain_id: Type.Optional(Type.Integer({ minimum: 0 })),
})

const view = Type.Object({
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
    input: view,
    answer: showInbox,
  }),
  plainRoute({
    method: 'POST',
    path: '/plain',
    title: 'Get an address',
    about: 'Gives the browser an address, unless it has one that lives.',
    input: wish,
    rate: 'createSession',
    answer: getAddress,
  }),
  holderRoute({
    method: 'POST',
    path: '/plain/extend',
    title: 'More time',
    about: 'Moves the end of the address.',
    input: Type.Object({ proof }),
    async answer(_input, { deps, call, token }) {
      if (call.client !== undefined) await takeRate(deps, 'extendSession', secretHash(token))
      const session = await extendSession(deps, token, undefined)
      return goTo(INBOX, keep(deps.now(), call.secure(), { session, token }))
    },
  }),
  holderRoute({
    method: 'GET',
    path: '/plain/end',
    title: 'End the address',
    about: 'Asks whether the address is to end.',
    input: Type.Object({}),
    async answer(_input, { deps, site, token }) {
      return endPage(site, await liveSession(deps, token), token)
    },
  }),
  holderRoute({
    method: 'POST',
    path: '/plain/end',
    title: 'End the address',
    about: 'Ends the address now.',
    input: Type.Object({ proof }),
    async answer(_input, { deps, call, token }) {
      await endSession(deps, token)
      return goTo('/plain?ended=1', dropToken(call.secure()))
    },
  }),
  ...plainMailRoutes,
]

async function showInbox(input: Static<typeof view>, visit: Visit): Promise<HttpResponse> {
  const { deps, call, site, token } = visit
  if (token === undefined) return await withoutToken(input, visit)
  const found = await liveSession(deps, token)
  // Now that the cookie has come back, the address of the page need not speak of it.
  if (input.first) return goTo(INBOX)
  if (call.client !== undefined) await takeRate(deps, 'checkMail', String(found.id))
  const page = { sinceId: 0, limit: USUAL_LIMIT }
  const { session, messages } = await listMail(
    { ...deps, codes: looksOf(deps.codes, call.client) },
    { token, session: found },
    page,
  )
  return inboxPage(site, {
    session,
    token,
    messages,
    now: deps.now(),
    full: isFull(session, deps.mailbox),
    looks: input.look ?? true,
    still: input.still ?? false,
  })
}

async function withoutToken(input: Static<typeof view>, visit: Visit): Promise<HttpResponse> {
  const { call, site } = visit
  if (input.first) return troublePage(site, { trouble: 'cookie', status: 400 })
  if (input.look && !isLedHere(call)) return troublePage(site, { trouble: 'over', status: 401 })
  return await offer(visit, { notice: input.ended ? site.locale.say('end_done') : undefined })
}

/** By a page of another site: then the browser keeps its cookie to itself. */
function isLedHere({ headers }: Call): boolean {
  const from = headers['sec-fetch-site']
  return from === 'cross-site' || from === 'same-site'
}

/** What can be wrong with the name or the domain that somebody chose. */
const WHY: Partial<Record<ProblemCode, keyof PlainWords>> = {
  address_taken: 'taken',
  invalid_prefix: 'invalid',
  reserved_prefix: 'reserved',
  unknown_domain: 'domain_gone',
}

async function getAddress(input: Static<typeof wish>, visit: Visit): Promise<HttpResponse> {
  const { deps, call, site } = visit
  const { prefix, domain_id: domainId } = input
  // One at a time: a second would take the first away, and nobody could open it any more.
  if (await hasLiveSession(visit)) return goTo('/plain?still=1')
  try {
    const made = await createSession(deps, { prefix, domainId })
    return goTo('/plain?first=1', keep(deps.now(), call.secure(), made))
  } catch (error) {
    const why = error instanceof Problem ? WHY[error.code] : undefined
    if (!(error instanceof Problem) || !why) throw error
    const refused = { why: site.locale.say(why), prefix: prefix ?? '', domainId }
    return await offer(visit, { refused: { ...refused, status: status[error.code] } })
  }
}

async function hasLiveSession({ deps, token }: Visit): Promise<boolean> {
  if (token === undefined) return false
  try {
    await liveSession(deps, token)
    return true
  } catch (error) {
    if (error instanceof Problem && status[error.code] === 401) return false
    throw error
  }
}

/** Where an address is to be had. */
async function offer(
  { deps, call, site, facts }: Visit,
  told: Pick<Parameters<typeof startPage>[1], 'notice' | 'refused'>,
): Promise<HttpResponse> {
  return startPage(site, {
    domains: await openDomains(deps),
    life: facts.life,
    ...told,
    ledHere: isLedHere(call),
  })
}

function keep(now: Date, secure: boolean, { session, token }: { session: Session; token: string }) {
  const seconds = Math.ceil((session.expiresAt.getTime() - now.getTime()) / 1000)
  return keepToken(secure, token, seconds)
}

function goTo(location: string, cookie?: string): HttpResponse {
  return empty(303, { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) })
}
