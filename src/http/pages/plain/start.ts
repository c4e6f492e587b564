import type { MailDomain } from '../../../core/address.ts'
import type { HttpResponse } from '../../server/response.ts'
import { html, type Markup } from '../html.ts'
import type { Locale } from '../locale.ts'
import { type PageFacts, siteFooter, siteHeader } from '../page.ts'
import { type PlainSite, plainPage } from './page.ts'

interface Start {
  domains: readonly MailDomain[]
  /** Life of a new address, in seconds. */
  life: number
  /** What is to be told first. */
  notice?: string | undefined
  /** What was asked for and could not be given, and why. */
  refused?:
    | { status: number; why: string; prefix: string; domainId: number | undefined }
    | undefined
  /** Another site's page leads here: the browser may have an address and not say so. */
  isFromOtherSite: boolean
}

/** What `/` is until its script takes over, and for good where there is none. */
export function startContent(
  { abuse, life }: PageFacts,
  { locale, scripted }: { locale: Locale; scripted: boolean },
): Markup {
  const { say } = locale
  const foot = siteFooter(locale, abuse)
  const start = html`<div class="plain-page">
<h1>${say('start_title')}</h1>
${getAddressForm(locale, life)}
<p><a href="/plain">${say('start_own')}</a></p>
<p><a href="/plain">${say('start_open')}</a></p>
</div>`
  if (!scripted) return html`${siteHeader(locale, 'inbox')}<main id="main">${start}</main>${foot}`
  // Seen only where scripts are off, or where this one does not come.
  return html`${siteHeader(locale, 'inbox')}
<main id="main">
<noscript>${start}</noscript>
<p class="plain-late">${say('start_late')} <a href="/plain">${say('start_get')}</a></p>
</main>
<noscript>${foot}</noscript>`
}

/** Where an address is to be had, for a browser that has none. */
export function startPage(site: PlainSite, start: Start): HttpResponse {
  const { locale } = site
  const { domains, life, notice, refused, isFromOtherSite } = start
  const { say } = locale
  const told = notice === undefined ? html`` : html`<p class="notice good">${notice}</p>`
  return plainPage(site, {
    title: say('start_title'),
    status: refused?.status ?? 200,
    content: html`<h1>${say('start_title')}</h1>
${told}
${getAddressForm(locale, life)}
${isFromOtherSite ? html`<p><a href="/plain">${say('start_open')}</a></p>` : html``}
<section class="panel" aria-labelledby="own">
<h2 id="own">${say('start_own')}</h2>
${nameForm(locale, domains, refused)}
</section>`,
  })
}

function getAddressForm({ say, duration }: Locale, life: number): Markup {
  return html`<p class="lead">${say('start_lead')}</p>
<form method="post" action="/plain"><p><button>${say('start_get')}</button></p></form>
<p class="soft">${say('start_life', { life: duration(life) })} ${say('start_cookie')}</p>`
}

function nameForm(
  { say }: Locale,
  domains: readonly MailDomain[],
  refused: Start['refused'],
): Markup {
  const invalidAttributes = refused
    ? html` aria-invalid="true" aria-describedby="why hint"`
    : html` aria-describedby="hint"`
  const chosen = (id: number) => (id === refused?.domainId ? html` selected` : html``)
  return html`<form method="post" action="/plain">
${refused ? html`<p class="fault" id="why" role="alert">${refused.why}</p>` : html``}
<div class="plain-name">
<p class="field"><label for="prefix">${say('name_label')}</label>
<input id="prefix" name="prefix" value="${refused?.prefix ?? ''}" maxlength="64" dir="ltr" autocomplete="off" autocapitalize="none" spellcheck="false"${invalidAttributes}></p>
<p class="field"><label for="domain">${say('domain_label')}</label>
<select id="domain" name="domain_id"><option value="">${say('domain_any')}</option>${domains.map(
    ({ id, name }) => html`<option value="${id}"${chosen(id)}>@${name}</option>`,
  )}</select></p>
</div>
<p class="soft" id="hint">${say('name_hint')}</p>
<button class="plain">${say('start_get_own')}</button>
</form>`
}
