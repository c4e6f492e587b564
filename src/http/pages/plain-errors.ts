import type { Problem, ProblemCode } from '../../core/problem.ts'
import { refusal } from '../server/refusal.ts'
import type { HttpResponse } from '../server/response.ts'
import { html } from './markup.ts'
import { type PlainSite, plainPage } from './plain-page.ts'
import type { PlainWords } from './plain-words/en.ts'

type Trouble =
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
const TROUBLES: Partial<Record<ProblemCode, Trouble>> = {
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
const BEGIN_ANEW: readonly Trouble[] = ['cookie', 'over', 'none']

/** A refusal as a page: with its status, and when to ask again. */
export function refusalPage(site: PlainSite, problem: Problem, requestId: string): HttpResponse {
  const { status, headers } = refusal(problem, requestId)
  const { 'retry-after': wait, 'x-request-id': id = '' } = headers
  const { locale } = site
  const [start, end] = [new Date(0), new Date(Number(wait ?? 1) * 1000)]
  const trouble = TROUBLES[problem.code] ?? 'wrong'
  return troublePage(site, {
    trouble,
    status,
    values: { id, wait: locale.between(start, end) },
    headers: { 'x-request-id': id, ...(wait === undefined ? {} : { 'retry-after': wait }) },
  })
}

interface Told {
  trouble: Trouble
  status: number
  values?: Record<string, string>
  headers?: Record<string, string>
}

export function troublePage(
  site: PlainSite,
  { trouble, status, values = {}, headers = {} }: Told,
): HttpResponse {
  const { say } = site.locale
  const title = say(`${trouble}_title` satisfies keyof PlainWords)
  const onward = BEGIN_ANEW.includes(trouble)
    ? html`<form method="post" action="/plain"><p><button>${say('start_get')}</button></p></form>`
    : html``
  const back = trouble === 'none' ? say('start_open') : say('mail_back')
  return plainPage(site, {
    title,
    status,
    headers,
    content: html`<h1>${title}</h1>
<p class="lead">${say(`${trouble}_text` satisfies keyof PlainWords, values)}</p>
${onward}
${trouble === 'cookie' || trouble === 'over' ? html`` : html`<p><a href="/plain">${back}</a></p>`}`,
  })
}
