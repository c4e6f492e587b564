import type { AttachmentNote, Code, Link, Mail, Message, SenderChecks } from '../../core/message.ts'
import { isoStamp } from '../../core/time.ts'
import { displaySender, isSuspicious } from '../../shared/sender-display.ts'
import type { HttpResponse } from '../server/response.ts'
import { html, type Markup } from './markup.ts'
import type { Locale } from './plain-locale.ts'
import { alone, INBOX, type PlainSite, plainPage, proofField } from './plain-page.ts'

interface Letter {
  message: Message
  mail: Mail
  checks: SenderChecks | undefined
  token: string
}

// More than anybody reads; the rest would only be slow.
const LONGEST_TEXT = 256 * 1024
const LONGEST_LABEL = 120
// Of a mail in which nobody is asked to follow one; a newsletter has fifty.
const FIRST_LINKS = 5

/** One message as text. It does not look again: nothing moves under the reader. */
export function mailPage(site: PlainSite, { message, mail, checks, token }: Letter): HttpResponse {
  const { locale } = site
  const { say } = locale
  const { id, recipient, receivedAt } = message
  const subject = message.subject || say('mail_no_subject')
  return plainPage(site, {
    title: subject,
    content: html`<p><a href="${INBOX}">${say('mail_back')}</a></p>
<article>
<h1 class="plain-title">${alone(subject)}</h1>
<dl class="facts">
<dt>${say('mail_from')}</dt><dd>${sender(locale, message)}${trust(locale, checks)}${claimed(locale, message)}</dd>
<dt>${say('mail_to')}</dt><dd>${alone(recipient)}</dd>
<dt>${say('mail_received')}</dt><dd><time datetime="${isoStamp(receivedAt)}">${locale.time(receivedAt)}</time></dd>
</dl>
${codeCard(locale, mail.codes)}${isSuspicious(message.senderName, message.senderEmail, checks) ? html`` : linkCard(locale, mail.links)}
${textOf(locale, mail)}
${files(locale, id, mail.attachments)}
<div class="row">
<a class="button plain" href="/plain/mail/${id}/raw">${say('mail_raw')}</a>
<form method="post" action="/plain/mail/${id}/delete">${proofField(token)}<button class="danger">${say('mail_delete')}</button></form>
</div>
</article>`,
  })
}

/** The address is always there: a name can say anything. */
function sender({ say }: Locale, { senderName, senderEmail }: Message): Markup {
  const { title, address } = displaySender(senderName, senderEmail)
  if (title === '') return html`${say('mail_no_sender')}`
  if (!address) return alone(title)
  return html`${alone(title)} <span class="soft" dir="ltr">&lt;${address}&gt;</span>`
}

function claimed({ say }: Locale, { senderName, senderEmail }: Message): Markup {
  const { claimedName } = displaySender(senderName, senderEmail)
  if (!claimedName) return html``
  return html`<p class="notice bad">${say('sender_claims', { name: claimedName })}</p>`
}

function trust({ say }: Locale, checks: SenderChecks | undefined): Markup {
  if (!checks) return html``
  const { dmarc } = checks
  if (dmarc === 'pass') return html`<br><span class="badge good">${say('sender_sure')}</span>`
  if (dmarc === 'fail') return html`<br><span class="badge bad">${say('sender_doubt')}</span>`
  return html`<br><span class="badge">${say('sender_unknown')}</span>`
}

function codeCard({ say }: Locale, [best, ...others]: readonly Code[]): Markup {
  if (!best) return html``
  const more = others.map(({ value }) => html` <code dir="ltr">${value}</code>`)
  return html`<section class="panel plain-card" aria-labelledby="code">
<h2 id="code">${say('mail_code')}</h2>
<p class="plain-code"><span dir="ltr">${best.value}</span></p>
${more.length > 0 ? html`<p class="soft">${say('mail_codes_more')}:${more}</p>` : html``}
</section>
`
}

interface SafeLink extends Pick<Link, 'kind' | 'text'> {
  href: string
  host: string
}

function linkCard({ say }: Locale, links: readonly Link[]): Markup {
  const all = links.flatMap(safeLink)
  if (all.length === 0) return html``
  const wanted = all.filter(isWanted)
  const first = wanted.length > 0 ? wanted : all.slice(0, FIRST_LINKS)
  const rest = all.filter((link) => !first.includes(link))
  const write = ({ href, host, kind, text }: SafeLink) => {
    const name = text.slice(0, LONGEST_LABEL) || say(`mail_link_${kind}`)
    return html`<li><a href="${href}" rel="noreferrer noopener">${alone(name)}</a>
<span class="plain-host">${say('mail_leads', { host })}</span></li>
`
  }
  const others = html`<details><summary>${say('mail_links_more')}</summary><ul>${rest.map(write)}</ul></details>`
  return html`<section class="panel plain-card" aria-labelledby="links">
<h2 id="links">${say('mail_links')}</h2>
<ul>${first.map(write)}</ul>
${rest.length > 0 ? others : html``}
</section>
`
}

/** Only what a browser opens as a page, and its host as the browser will read it, whatever the mail says. */
function safeLink({ url, kind, text }: Link): SafeLink[] {
  if (!URL.canParse(url)) return []
  const { protocol, href, host } = new URL(url)
  return protocol === 'https:' || protocol === 'http:' ? [{ href, host, kind, text }] : []
}

function isWanted({ kind }: Pick<Link, 'kind'>): boolean {
  return kind === 'verify' || kind === 'sign_in' || kind === 'reset'
}

function textOf({ say }: Locale, { text, html: formatted, truncated }: Mail): Markup {
  const whole = text ?? ''
  const isLong = whole.length > LONGEST_TEXT
  const cut = isLong || truncated === true
  const shown = isLong ? whole.slice(0, LONGEST_TEXT) : whole
  return html`<section aria-labelledby="text">
<h2 id="text" class="unseen">${say('mail_text')}</h2>
${shown.trim() === '' ? html`<p class="plain-none">${say('mail_no_text')}</p>` : html`<pre class="plain-text" dir="auto">${shown}</pre>`}
${formatted === null ? html`` : html`<p class="soft">${say('mail_html')}</p>`}${cut ? html`<p class="soft">${say('mail_cut')}</p>` : html``}
</section>`
}

function files({ say, size }: Locale, id: number, notes: readonly AttachmentNote[]): Markup {
  if (notes.length === 0) return html``
  return html`<section aria-labelledby="files">
<h2 id="files">${say('mail_files')}</h2>
<ul class="plain-files">${notes.map(
    ({ index, filename, contentType, size: bytes }) =>
      html`<li><a href="/plain/mail/${id}/files/${index}" download>${alone(filename)}</a> <span class="soft"><bdi>${contentType}</bdi> · ${size(bytes)}</span></li>
`,
  )}</ul>
<p class="soft">${say('mail_files_care')}</p>
</section>`
}
