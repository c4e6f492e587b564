import { Type } from 'typebox'
import type {
  AttachmentInfo,
  Code,
  Link,
  Mail,
  Message,
  SenderChecks,
} from '../../../core/message.ts'
import { isoTimestamp } from '../../../core/time.ts'
import { deleteMail, readMail } from '../../../service/mail/read-mail.ts'
import { displaySender, isSuspicious } from '../../../shared/sender-display.ts'
import { attachmentRoute } from '../../api/attachment.ts'
import { rawMailRoute } from '../../api/raw-mail.ts'
import { idField } from '../../api/schemas.ts'
import { empty, type HttpResponse } from '../../server/response.ts'
import type { Route } from '../../server/route.ts'
import { html, type Markup } from '../html.ts'
import type { Locale } from '../locale.ts'
import { bdi, csrfField, INBOX_PATH, type PlainSite, plainPage } from './page.ts'
import { mailboxRoute } from './route.ts'

interface MailView {
  message: Message
  mail: Mail
  checks: SenderChecks | undefined
  token: string
}

// More than anybody reads; the rest would only be slow.
const MAX_TEXT_CHARS = 256 * 1024
const MAX_LABEL_CHARS = 120
// Of a mail in which nobody is asked to follow one; a newsletter has fifty.
const MAX_FIRST_LINKS = 5

/** One message as text. It does not look again: nothing moves under the reader. */
export function mailPage(
  site: PlainSite,
  { message, mail, checks, token }: MailView,
): HttpResponse {
  const { locale } = site
  const { say } = locale
  const { id, recipient, receivedAt } = message
  const subject = message.subject || say('mail_no_subject')
  return plainPage(site, {
    title: subject,
    content: html`<p><a href="${INBOX_PATH}">${say('mail_back')}</a></p>
<article>
<h1 class="plain-title">${bdi(subject)}</h1>
<dl class="facts">
<dt>${say('mail_from')}</dt><dd>${sender(locale, message)}${senderBadge(locale, checks)}${claimedNameNotice(locale, message)}</dd>
<dt>${say('mail_to')}</dt><dd>${bdi(recipient)}</dd>
<dt>${say('mail_received')}</dt><dd><time datetime="${isoTimestamp(receivedAt)}">${locale.dateTime(receivedAt)}</time></dd>
</dl>
${codeCard(locale, mail.codes)}${isSuspicious(message.senderName, message.senderEmail, checks) ? html`` : linkCard(locale, mail.links)}
${textSection(locale, mail)}
${attachmentSection(locale, id, mail.attachments)}
<div class="row">
<a class="button plain" href="/plain/mail/${id}/raw">${say('mail_raw')}</a>
<form method="post" action="/plain/mail/${id}/delete">${csrfField(token)}<button class="danger">${say('mail_delete')}</button></form>
</div>
</article>`,
  })
}

/** The address is always there: a name can say anything. */
function sender({ say }: Locale, { senderName, senderEmail }: Message): Markup {
  const { title, address } = displaySender(senderName, senderEmail)
  if (title === '') return html`${say('mail_no_sender')}`
  if (!address) return bdi(title)
  return html`${bdi(title)} <span class="soft" dir="ltr">&lt;${address}&gt;</span>`
}

function claimedNameNotice({ say }: Locale, { senderName, senderEmail }: Message): Markup {
  const { claimedName } = displaySender(senderName, senderEmail)
  if (!claimedName) return html``
  return html`<p class="notice bad">${say('sender_claims', { name: claimedName })}</p>`
}

function senderBadge({ say }: Locale, checks: SenderChecks | undefined): Markup {
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
  const actionLinks = all.filter(isActionLink)
  const first = actionLinks.length > 0 ? actionLinks : all.slice(0, MAX_FIRST_LINKS)
  const rest = all.filter((link) => !first.includes(link))
  const write = ({ href, host, kind, text }: SafeLink) => {
    const name = text.slice(0, MAX_LABEL_CHARS) || say(`mail_link_${kind}`)
    return html`<li><a href="${href}" rel="noreferrer noopener">${bdi(name)}</a>
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

function isActionLink({ kind }: Pick<Link, 'kind'>): boolean {
  return kind === 'verify' || kind === 'sign_in' || kind === 'reset'
}

function textSection({ say }: Locale, { text, html: formatted, truncated }: Mail): Markup {
  const whole = text ?? ''
  const isLong = whole.length > MAX_TEXT_CHARS
  const cut = isLong || truncated === true
  const shown = isLong ? whole.slice(0, MAX_TEXT_CHARS) : whole
  return html`<section aria-labelledby="text">
<h2 id="text" class="unseen">${say('mail_text')}</h2>
${shown.trim() === '' ? html`<p class="plain-none">${say('mail_no_text')}</p>` : html`<pre class="plain-text" dir="auto">${shown}</pre>`}
${formatted === null ? html`` : html`<p class="soft">${say('mail_html')}</p>`}${cut ? html`<p class="soft">${say('mail_cut')}</p>` : html``}
</section>`
}

function attachmentSection(
  { say, size }: Locale,
  id: number,
  notes: readonly AttachmentInfo[],
): Markup {
  if (notes.length === 0) return html``
  return html`<section aria-labelledby="files">
<h2 id="files">${say('mail_files')}</h2>
<ul class="plain-files">${notes.map(
    ({ index, filename, contentType, size: bytes }) =>
      html`<li><a href="/plain/mail/${id}/files/${index}" download>${bdi(filename)}</a> <span class="soft"><bdi>${contentType}</bdi> · ${size(bytes)}</span></li>
`,
  )}</ul>
<p class="soft">${say('mail_files_care')}</p>
</section>`
}

/** One message without scripts. */
export const plainMailRoutes: readonly Route[] = [
  mailboxRoute({
    method: 'GET',
    path: '/plain/mail/{id}',
    title: 'A message without scripts',
    about: 'One message as text.',
    input: Type.Object({ id: idField }),
    async answer({ id }, { deps, site, token, call: { client, signal } }) {
      const read = await readMail(deps, { token, id, client, signal: signal() })
      return mailPage(site, { ...read, token })
    },
  }),
  mailboxRoute({
    method: 'GET',
    path: '/plain/mail/{id}/raw',
    title: 'Download a message without scripts',
    about: 'What raw-mail gives, for who has the cookie.',
    input: Type.Object({ id: idField }),
    output: 'message/rfc822',
    answer: ({ id }, { deps, call, token }) => rawMailRoute.handle({ token, id }, deps, call),
  }),
  mailboxRoute({
    method: 'GET',
    path: '/plain/mail/{id}/files/{index}',
    title: 'Download an attachment without scripts',
    about: 'What attachment gives, for who has the cookie.',
    input: Type.Object({ id: idField, index: Type.Integer({ minimum: 0 }) }),
    output: 'application/octet-stream',
    answer: ({ id, index }, { deps, call, token }) =>
      attachmentRoute.handle({ token, id, index }, deps, call),
  }),
  mailboxRoute({
    method: 'POST',
    path: '/plain/mail/{id}/delete',
    title: 'Delete a message without scripts',
    about: 'Deletes one message for good.',
    input: Type.Object({ id: idField, proof: Type.Optional(Type.String()) }),
    async answer({ id }, { deps, token }) {
      await deleteMail(deps, token, id)
      return empty(303, { location: INBOX_PATH })
    },
  }),
]
