import type { HttpResponse } from '../server/response.ts'
import type { BuiltPage } from './built-page.ts'
import { html, type Markup } from './markup.ts'
import { page } from './page.ts'
import { siteFoot, siteTop } from './page-top.ts'
import { formProof } from './plain-guard.ts'
import type { Locale } from './plain-locale.ts'

/** The inbox of who had an address a moment ago: when its cookie ends with it, the page can still say so. */
export const INBOX = '/plain?look=1'

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
  const answer = page(built, {
    title,
    language: locale.language,
    ...(refresh === undefined ? {} : { refresh }),
    content: html`${siteTop(locale, 'inbox')}
<main id="main" class="plain-page">
${content}
</main>
${siteFoot(locale, abuse)}`,
  })
  return { ...answer, status, headers: { ...answer.headers, ...headers } }
}

/** A text of our own with a stranger's word in it: the word keeps its own direction. */
export function alone(text: string): Markup {
  return html`<bdi>${text}</bdi>`
}

/** What shows that a form is ours: see plain-guard.ts. */
export function proofField(token: string): Markup {
  return html`<input type="hidden" name="proof" value="${formProof(token)}">`
}
