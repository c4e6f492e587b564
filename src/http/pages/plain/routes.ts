import { type Static, Type } from 'typebox'
import { secretHash } from '../../../base/id.ts'
import { Problem, type ProblemCode } from '../../../base/problem.ts'
import { DEFAULT_LIMIT } from '../../../mail/api/schemas.ts'
import { listMail } from '../../../mail/list/check-mail.ts'
import { scannerForClient } from '../../../mail/read/code-scanner.ts'
import { MAX_PREFIX } from '../../../mail/rules/prefix.ts'
import { isMailboxFull, type Session } from '../../../mail/rules/session.ts'
import { MAX_SUBDOMAIN } from '../../../mail/rules/subdomain.ts'
import { sendTestMail } from '../../../mail/send-test.ts'
import { createSession } from '../../../mail/sessions/create-session.ts'
import { sessionDomains } from '../../../mail/sessions/domains.ts'
import { endSession, extendSession, liveSession } from '../../../mail/sessions/session.ts'
import { problemStatus } from '../../server/problem-response.ts'
import { takeRate } from '../../server/rates.ts'
import type { HttpRequest } from '../../server/request.ts'
import { empty, type HttpResponse } from '../../server/response.ts'
import type { Locale } from '../locale.ts'
import { tokenCookie } from './csrf.ts'
import { deleteAddressPage, inboxPage } from './inbox.ts'
import { plainMailRoutes } from './mail.ts'
import { errorPage, INBOX_PATH } from './page.ts'
import { mailboxRoute, type PlainRequest, plainRoute } from './route.ts'
import { startPage } from './start.ts'

const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const proof = Type.Optional(Type.String({ description: 'The CSRF token of the form.' }))

const createInput = Type.Object({
  prefix: Type.Optional(Type.String()),
  domain_id: Type.Optional(Type.Integer({ minimum: 0 })),
  subdomain: Type.Optional(Type.String()),
})

const inboxInput = Type.Object({
  look: flag('0: the page does not reload itself.'),
  first: flag('After a redirect: the cookie was just set.'),
  still: flag('After a redirect: there already was an address.'),
  ended: flag('After a redirect: the address was deleted.'),
})

/** The essentials without scripts: a cookie holds the token, and forms take the place of buttons. */
export const plainRoutes = [
  plainRoute({
    method: 'GET',
    path: '/plain',
    input: inboxInput,
    respond: showInbox,
  }),
  plainRoute({
    method: 'POST',
    path: '/plain',
    input: createInput,
    rate: 'createSession',
    respond: getAddress,
  }),
  mailboxRoute({
    method: 'POST',
    path: '/plain/extend',
    input: Type.Object({ proof }),
    async respond(_input, { deps, request, token }) {
      if (request.client !== undefined) await takeRate(deps, 'extendSession', secretHash(token))
      const session = await extendSession(deps, token, undefined)
      return redirect(INBOX_PATH, sessionCookie(deps.now(), request.secure(), { session, token }))
    },
  }),
  mailboxRoute({
    method: 'POST',
    path: '/plain/test',
    input: Type.Object({ proof }),
    async respond(_input, { deps, request, token }) {
      await sendTestMail(deps, { token, client: request.client })
      return redirect(INBOX_PATH)
    },
  }),
  mailboxRoute({
    method: 'GET',
    path: '/plain/end',
    input: Type.Object({}),
    async respond(_input, { deps, site, token }) {
      return deleteAddressPage(site, await liveSession(deps, token), token)
    },
  }),
  mailboxRoute({
    method: 'POST',
    path: '/plain/end',
    input: Type.Object({ proof }),
    async respond(_input, { deps, request, token }) {
      await endSession(deps, token)
      return redirect('/plain?ended=1', tokenCookie(request.secure(), '', 0))
    },
  }),
  ...plainMailRoutes,
]

async function showInbox(
  input: Static<typeof inboxInput>,
  plain: PlainRequest,
): Promise<HttpResponse> {
  const { deps, request, site, token } = plain
  if (token === undefined) return await showStart(input, plain)
  const found = await liveSession(deps, token)
  // The cookie was accepted: drop the flag from the URL.
  if (input.first) return redirect(INBOX_PATH)
  if (request.client !== undefined) await takeRate(deps, 'checkMail', String(found.id))
  const page = { sinceId: 0, limit: DEFAULT_LIMIT }
  const { session, messages } = await listMail(
    { ...deps, codes: scannerForClient(deps.codes, request.client) },
    { token, session: found },
    page,
  )
  return inboxPage(site, {
    session,
    token,
    messages,
    now: deps.now(),
    isFull: isMailboxFull(session, deps.mailbox),
    refreshes: input.look ?? true,
    alreadyHasAddress: input.still ?? false,
  })
}

async function showStart(
  input: Static<typeof inboxInput>,
  plain: PlainRequest,
): Promise<HttpResponse> {
  const { request, site } = plain
  if (input.first) return errorPage(site, { kind: 'cookie', status: 400 })
  if (input.look && !isFromOtherSite(request))
    return errorPage(site, { kind: 'expired', status: 401 })
  return await renderStart(plain, {
    notice: input.ended ? site.locale.t('plain_deleted') : undefined,
  })
}

/** True if a link on another site led here: the browser then withholds its SameSite cookie. */
function isFromOtherSite({ headers }: HttpRequest): boolean {
  const from = headers['sec-fetch-site']
  return from === 'cross-site' || from === 'same-site'
}

/** Problems with the chosen name, domain or subdomain. */
const NAME_ERRORS: Partial<Record<ProblemCode, Parameters<Locale['t']>[0]>> = {
  address_taken: 'address_name_taken',
  invalid_prefix: 'plain_invalid_name',
  reserved_prefix: 'address_name_reserved',
  invalid_subdomain: 'address_subdomain_invalid',
  reserved_subdomain: 'address_name_reserved',
  // The domain has no subdomains.
  invalid_parameter: 'plain_subdomain_hint',
  unknown_domain: 'plain_domain_gone',
}

async function getAddress(
  input: Static<typeof createInput>,
  plain: PlainRequest,
): Promise<HttpResponse> {
  const { deps, request, site } = plain
  const { prefix, domain_id: domainId, subdomain } = input
  // One address at a time: the cookie of a second would replace the only token of the first.
  if (await hasLiveSession(plain)) return redirect('/plain?still=1')
  try {
    const made = await createSession(deps, { prefix, domainId, subdomain })
    return redirect('/plain?first=1', sessionCookie(deps.now(), request.secure(), made))
  } catch (error) {
    const reason = error instanceof Problem ? NAME_ERRORS[error.code] : undefined
    if (!(error instanceof Problem) || !reason) throw error
    return await renderStart(plain, {
      rejected: {
        status: problemStatus[error.code],
        reason: site.locale.t(reason),
        prefix: (prefix ?? '').slice(0, MAX_PREFIX),
        domainId,
        subdomain: (subdomain ?? '').slice(0, MAX_SUBDOMAIN),
      },
    })
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

async function renderStart(
  { deps, request, site }: PlainRequest,
  message: Pick<Parameters<typeof startPage>[1], 'notice' | 'rejected'>,
): Promise<HttpResponse> {
  return startPage(site, {
    domains: await sessionDomains(deps),
    ...message,
    isFromOtherSite: isFromOtherSite(request),
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
