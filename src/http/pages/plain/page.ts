import type { Problem, ProblemCode } from '../../../core/problem.ts'
import { problemResponse } from '../../server/problem-response.ts'
import type { HttpResponse } from '../../server/response.ts'
import type { BuiltPage } from '../assets.ts'
import { html, type Markup } from '../html.ts'
import type { Locale } from '../locale.ts'
import { page, siteFooter, siteHeader } from '../page.ts'
import type { PlainWords } from '../plain-words/en.ts'
import { csrfToken } from './csrf.ts'

/** The inbox of who had an address a moment ago: when its cookie ends with it, the page can still say so. */
export const INBOX_PATH = '/plain?look=1'

/** What the pages without scripts stand on. */
export interface PlainSite {
  built: BuiltPage
  locale: Locale
  /** Where abuse is told; empty where it is not known. */
  abuse: string
}

interface PlainPage {
  title: string
  content: Markup
  status?: number
  headers?: Record<string, string>
  /** Seconds after which it looks again. */
  refresh?: number
}

/** One page that needs no script. */
export function plainPage({ built, locale, abuse }: PlainSite, plain: PlainPage): HttpResponse {
  const { title, content, status = 200, headers = {}, refresh } = plain
  const response = page(built, {
    title,
    language: locale.language,
    ...(refresh === undefined ? {} : { refresh }),
    content: html`${siteHeader(locale, 'inbox')}
<main id="main" class="plain-page">
${content}
</main>
${siteFooter(locale, abuse)}`,
  })
  return { ...response, status, headers: { ...response.headers, ...headers } }
}

/** A text of our own with a stranger's word in it: the word keeps its own direction. */
export function bdi(text: string): Markup {
  return html`<bdi>${text}</bdi>`
}

/** What shows that a form is ours: see csrf.ts. */
export function csrfField(token: string): Markup {
  return html`<input type="hidden" name="proof" value="${csrfToken(token)}">`
}

type ErrorKind =
  | 'cookie'
  | 'over'
  | 'none'
  | 'missing'
  | 'elsewhere'
  | 'wrong'
  | 'often'
  | 'busy'
  | 'fault'

/** What people are told of a refusal; another's mail looks as one that never was. */
const ERROR_KINDS: Partial<Record<ProblemCode, ErrorKind>> = {
  invalid_token: 'over',
  session_expired: 'over',
  message_not_found: 'missing',
  not_found: 'missing',
  rate_limited: 'often',
  overloaded: 'busy',
  shutting_down: 'busy',
  internal: 'fault',
}

// Where a new address helps; elsewhere the inbox is the place to go on from.
const OFFER_ADDRESS: readonly ErrorKind[] = ['cookie', 'over', 'none']

/** A refusal as a page: with its status, and when to ask again. */
export function problemPage(site: PlainSite, problem: Problem, requestId: string): HttpResponse {
  const { status, headers } = problemResponse(problem, requestId)
  const { 'retry-after': wait, 'x-request-id': id = '' } = headers
  const { locale } = site
  const [start, end] = [new Date(0), new Date(Number(wait ?? 1) * 1000)]
  const trouble = ERROR_KINDS[problem.code] ?? 'wrong'
  return errorPage(site, {
    kind: trouble,
    status,
    values: { id, wait: locale.relativeTime(start, end) },
    headers: { 'x-request-id': id, ...(wait === undefined ? {} : { 'retry-after': wait }) },
  })
}

interface PlainError {
  kind: ErrorKind
  status: number
  values?: Record<string, string>
  headers?: Record<string, string>
}

export function errorPage(
  site: PlainSite,
  { kind, status, values = {}, headers = {} }: PlainError,
): HttpResponse {
  const { say } = site.locale
  const title = say(`${kind}_title` satisfies keyof PlainWords)
  const offer = OFFER_ADDRESS.includes(kind)
    ? html`<form method="post" action="/plain"><p><button>${say('start_get')}</button></p></form>`
    : html``
  const back = kind === 'none' ? say('start_open') : say('mail_back')
  return plainPage(site, {
    title,
    status,
    headers,
    content: html`<h1>${title}</h1>
<p class="lead">${say(`${kind}_text` satisfies keyof PlainWords, values)}</p>
${offer}
${kind === 'cookie' || kind === 'over' ? html`` : html`<p><a href="/plain">${back}</a></p>`}`,
  })
}
