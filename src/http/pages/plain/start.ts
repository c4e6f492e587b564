import { domainName, type MailDomain } from '../../../base/address.ts'
import type { SiteConfig } from '../../../shared/site.ts'
import type { HttpResponse } from '../../server/response.ts'
import { html, type Markup } from '../html.ts'
import type { Locale } from '../locale.ts'
import { type Site, siteFooter, siteHeader } from '../page.ts'
import { plainPage } from './page.ts'

interface Start {
  domains: readonly MailDomain[]
  notice?: string | undefined
  /** The name, domain or subdomain that was rejected, and why. */
  rejected?:
    | {
        status: number
        reason: string
        prefix: string
        domainId: number | undefined
        subdomain: string
      }
    | undefined
  /** A link on another site led here: the browser may have an address but withhold the cookie. */
  isFromOtherSite: boolean
}

/** What `/` shows until its script takes over, and for good without one. */
export function startContent(config: SiteConfig, locale: Locale, isScripted: boolean): Markup {
  const { t } = locale
  const header = siteHeader({ locale, config }, 'inbox')
  const footer = siteFooter({ locale, config })
  const start = html`<div class="plain-page">
<h1>${t('plain_title')}</h1>
${getAddressForm(locale, config)}
<p><a href="/plain">${t('address_choose')}</a></p>
<p><a href="/plain">${t('plain_open')}</a></p>
</div>`
  if (!isScripted) return html`${header}<main id="main">${start}</main>${footer}`
  // Visible only if scripts are off, or if this one does not load.
  return html`${header}
<main id="main">
<noscript>${start}</noscript>
<p class="plain-late">${t('plain_slow')} <a href="/plain">${t('plain_get')}</a></p>
</main>
<noscript>${footer}</noscript>`
}

/** For a browser without an address. */
export function startPage(site: Site, start: Start): HttpResponse {
  const { locale, config } = site
  const { domains, notice, rejected, isFromOtherSite } = start
  const { t } = locale
  return plainPage(site, {
    title: t('plain_title'),
    status: rejected?.status ?? 200,
    content: html`<h1>${t('plain_title')}</h1>
${notice === undefined ? html`` : html`<p class="notice good">${notice}</p>`}
${getAddressForm(locale, config)}
${isFromOtherSite ? html`<p><a href="/plain">${t('plain_open')}</a></p>` : html``}
<section class="panel" aria-labelledby="own">
<h2 id="own">${t('address_choose')}</h2>
${nameForm(locale, domains, rejected)}
</section>`,
  })
}

function getAddressForm({ t, duration }: Locale, { life }: SiteConfig): Markup {
  return html`<p class="lead">${t('plain_lead')}</p>
<form method="post" action="/plain"><p><button>${t('plain_get')}</button></p></form>
<p class="soft">${t('plain_lifetime', { life: duration(life) })} ${t('plain_cookie')}</p>`
}

function nameForm(
  { t }: Locale,
  domains: readonly MailDomain[],
  rejected: Start['rejected'],
): Markup {
  const described = rejected
    ? html` aria-invalid="true" aria-describedby="why hint"`
    : html` aria-describedby="hint"`
  const selected = (id: number) => (id === rejected?.domainId ? html` selected` : html``)
  return html`<form method="post" action="/plain">
${rejected ? html`<p class="fault" id="why" role="alert">${rejected.reason}</p>` : html``}
<div class="plain-name">
<p class="field"><label for="prefix">${t('address_form_name')}</label>
<input id="prefix" name="prefix" value="${rejected?.prefix ?? ''}" maxlength="64" dir="ltr" autocomplete="off" autocapitalize="none" spellcheck="false"${described}></p>
<p class="field"><label for="domain">${t('address_form_domain')}</label>
<select id="domain" name="domain_id"><option value="">${t('plain_any_domain')}</option>${domains.map(
    (domain) =>
      html`<option value="${domain.id}"${selected(domain.id)}>@${domainName(domain)}</option>`,
  )}</select></p>
</div>
<p class="soft" id="hint">${t('address_form_name_hint')} ${t('address_form_random')}</p>
${domains.some(({ wildcard }) => wildcard) ? subdomainField(t, rejected?.subdomain ?? '') : html``}
<button class="plain">${t('address_form_submit')}</button>
</form>`
}

function subdomainField(t: Locale['t'], value: string): Markup {
  return html`<div class="field"><label for="subdomain">${t('address_form_subdomain')}</label>
<input id="subdomain" name="subdomain" value="${value}" maxlength="63" dir="ltr" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="subdomain-hint">
<p class="soft" id="subdomain-hint">${t('plain_subdomain_hint')}</p></div>`
}
