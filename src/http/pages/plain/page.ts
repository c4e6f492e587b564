import type { IncomingHttpHeaders } from 'node:http'
import type { Problem, ProblemCode } from '../../../base/problem.ts'
import { problemResponse } from '../../server/problem-response.ts'
import type { HttpResponse } from '../../server/response.ts'
import type { PageDeps } from '../deps.ts'
import { html, type Markup } from '../html.ts'
import { page, type Site, siteWithoutStore } from '../page.ts'
import { csrfToken } from './csrf.ts'

/** `look=1`: the browser had an address a moment ago. If the cookie has expired with it, the page can say so. */
export const INBOX_PATH = '/plain?look=1'

export function plainPage(site: Site, { content, ...options }: Parameters<typeof page>[1]) {
  return page(site, {
    current: 'inbox',
    ...options,
    content: html`<main id="main" class="plain-page">
${content}
</main>`,
  })
}

/** Text of unknown direction, isolated from the text around it. */
export function bdi(text: string): Markup {
  return html`<bdi>${text}</bdi>`
}

/** The hidden field that every form carries: see csrf.ts. */
export function csrfField(token: string): Markup {
  return html`<input type="hidden" name="proof" value="${csrfToken(token)}">`
}

type ErrorKind = keyof typeof ERRORS

/** Title and text of each error page. */
const ERRORS = {
  cookie: ['plain_cookie_title', 'plain_cookie_text'],
  expired: ['inbox_ended', 'plain_expired_text'],
  none: ['plain_none_title', 'plain_none_text'],
  missing: ['plain_missing_title', 'plain_missing_text'],
  noPage: ['plain_no_page_title', 'plain_no_page_text'],
  crossSite: ['plain_rejected_title', 'plain_rejected_text'],
  invalid: ['plain_invalid_title', 'plain_invalid_text'],
  rateLimited: ['address_limited', 'site_try_again_in'],
  busy: ['address_busy', 'plain_busy_text'],
  internal: ['plain_error_title', 'plain_error_text'],
} as const

/** A message of another mailbox looks like one that does not exist. */
const ERROR_KINDS: Partial<Record<ProblemCode, ErrorKind>> = {
  invalid_token: 'expired',
  session_expired: 'expired',
  message_not_found: 'missing',
  not_found: 'missing',
  rate_limited: 'rateLimited',
  overloaded: 'busy',
  shutting_down: 'busy',
  internal: 'internal',
}

// After these errors a new address helps; after the others, going back to the inbox.
const OFFER_ADDRESS: readonly ErrorKind[] = ['cookie', 'expired', 'none']

/** A problem as a page, with its status and Retry-After. `isPlain`: of a page without scripts. */
export function problemPage(
  site: Site,
  problem: Problem,
  { requestId, isPlain }: { requestId: string; isPlain: boolean },
): HttpResponse {
  const { status, headers } = problemResponse(problem, requestId)
  const { 'retry-after': wait, 'x-request-id': id = '' } = headers
  const kind = ERROR_KINDS[problem.code] ?? 'invalid'
  return errorPage(site, {
    kind: kind === 'missing' && !isPlain ? 'noPage' : kind,
    status,
    values: { id, time: site.locale.duration(Number(wait ?? 1)) },
    headers: { 'x-request-id': id, ...(wait === undefined ? {} : { 'retry-after': wait }) },
    isPlain,
  })
}

/** Error page for any path that a browser requested, except those of the API. */
export function browserProblemPage(
  problem: Problem,
  deps: PageDeps,
  request: { headers: IncomingHttpHeaders; requestId: string },
): HttpResponse {
  return problemPage(siteWithoutStore(deps, request), problem, { ...request, isPlain: false })
}

interface PlainError {
  kind: ErrorKind
  status: number
  values?: Record<string, string>
  headers?: Record<string, string>
  isPlain?: boolean
}

export function errorPage(
  site: Site,
  { kind, status, values = {}, headers = {}, isPlain = true }: PlainError,
): HttpResponse {
  const { t } = site.locale
  const [title, text] = ERRORS[kind]
  const offer = OFFER_ADDRESS.includes(kind)
    ? html`<form method="post" action="/plain"><p><button>${t('plain_get')}</button></p></form>`
    : html``
  const back = kind === 'none' ? t('plain_open') : t('plain_back')
  return plainPage(site, {
    title: t(title),
    status,
    headers,
    current: isPlain ? 'inbox' : '',
    content: html`<h1>${t(title)}</h1>
<p class="lead">${t(text, values)}</p>
${offer}
${kind === 'cookie' || kind === 'expired' ? html`` : html`<p><a href="${isPlain ? '/plain' : '/'}">${back}</a></p>`}`,
  })
}
