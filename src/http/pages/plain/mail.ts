import { Type } from 'typebox'
import { isoTimestamp } from '../../../base/time.ts'
import { attachmentRoute, rawMailRoute } from '../../../mail/api/downloads.ts'
import { idField } from '../../../mail/api/schemas.ts'
import { deleteMail, findMessage, readMail } from '../../../mail/read/read-mail.ts'
import type { Message } from '../../../mail/rules/message.ts'
import { typeName } from '../../../shared/attachment.ts'
import { formatSize } from '../../../shared/format-size.ts'
import type { AttachmentInfo, Code, Link, Mail, SenderChecks } from '../../../shared/mail.ts'
import { displaySender, isSuspicious, senderBadge } from '../../../shared/sender-display.ts'
import { empty, type HttpResponse } from '../../server/response.ts'
import { html, type Markup } from '../html.ts'
import type { Locale } from '../locale.ts'
import type { Site } from '../page.ts'
import { bdi, csrfField, INBOX_PATH, plainPage } from './page.ts'
import { mailboxRoute } from './route.ts'

interface MailView {
  message: Message
  mail: Mail
  checks: SenderChecks | undefined
  token: string
}

const MAX_TEXT_CHARS = 256 * 1024
const MAX_LABEL_CHARS = 120
// Links shown for a message without an action link; a newsletter has fifty.
const MAX_FIRST_LINKS = 5

/** One message as text. It does not reload, so that nothing moves while it is read. */
export function mailPage(site: Site, { message, mail, checks, token }: MailView): HttpResponse {
  const { locale } = site
  const hasLinks = !isSuspicious(message.senderName, message.senderEmail, checks)
  const { t } = locale
  const { id, recipient, receivedAt } = message
  const subject = message.subject || t('reader_no_subject')
  return plainPage(site, {
    title: subject,
    content: html`<p><a href="${INBOX_PATH}">${t('plain_back')}</a></p>
<article>
<h1 class="plain-title">${bdi(subject)}</h1>
<dl class="facts">
<dt>${t('reader_from')}</dt><dd>${sender(locale, message)}${authBadge(locale, message, checks)}${claimedNameNotice(locale, message)}</dd>
<dt>${t('reader_to')}</dt><dd>${bdi(recipient)}</dd>
<dt>${t('plain_received')}</dt><dd><time datetime="${isoTimestamp(receivedAt)}">${locale.dateTime(receivedAt)}</time></dd>
</dl>
${codeCard(locale, mail.codes)}${hasLinks ? linkCard(locale, mail.links) : html``}
${textSection(locale, mail, hasLinks)}
${attachmentSection(locale, id, mail.attachments)}
<div class="row">
<a class="button plain" href="/plain/mail/${id}/raw">${t('reader_save')}</a>
<form method="post" action="/plain/mail/${id}/delete">${csrfField(token)}<button class="danger">${t('site_delete')}</button></form>
</div>
</article>`,
  })
}

/** Always with the address: a name can say anything. */
function sender({ t }: Locale, { senderName, senderEmail }: Message): Markup {
  const { title, address } = displaySender(senderName, senderEmail)
  if (title === '') return html`${t('reader_no_sender')}`
  if (!address) return bdi(title)
  return html`${bdi(title)} <span class="soft" dir="ltr">&lt;${address}&gt;</span>`
}

function claimedNameNotice({ t }: Locale, { senderName, senderEmail }: Message): Markup {
  const { claimedName } = displaySender(senderName, senderEmail)
  if (!claimedName) return html``
  return html`<p class="notice bad">${t('reader_claimed_name', { name: claimedName })}</p>`
}

function authBadge(
  { t }: Locale,
  { senderEmail }: Message,
  checks: SenderChecks | undefined,
): Markup {
  if (!checks) return html``
  const { domain, badge, tone } = senderBadge(senderEmail, checks.dmarc)
  return html`<br><span class="badge ${tone}">${t(`reader_${badge}`, { domain })}</span> ${t(`reader_${badge}_why`, { domain })}`
}

function codeCard({ t }: Locale, [best, ...others]: readonly Code[]): Markup {
  if (!best) return html``
  const more = others.map(({ value }) => html` <code dir="ltr">${value}</code>`)
  return html`<section class="panel plain-card" aria-labelledby="code">
<h2 id="code">${t('reader_code')}</h2>
<p class="plain-code"><span dir="ltr">${best.value}</span></p>
${more.length > 0 ? html`<p class="soft">${t('reader_other_codes')}:${more}</p>` : html``}
</section>
`
}

interface SafeLink extends Pick<Link, 'kind' | 'text'> {
  href: string
  host: string
}

function linkCard({ t }: Locale, links: readonly Link[]): Markup {
  const all = links.flatMap(safeLink)
  if (all.length === 0) return html``
  const actionLinks = all.filter(isActionLink)
  const first = actionLinks.length > 0 ? actionLinks : all.slice(0, MAX_FIRST_LINKS)
  const rest = all.filter((link) => !first.includes(link))
  const write = ({ href, host, kind, text }: SafeLink) => {
    const name = text.slice(0, MAX_LABEL_CHARS) || t(LINK_LABELS[kind])
    return html`<li><a href="${href}" rel="noreferrer noopener">${bdi(name)}</a>
<span class="plain-host">${t('reader_link_goes_to')} ${bdi(host)}</span></li>
`
  }
  const others = html`<details><summary>${t('plain_more_links')}</summary><ul>${rest.map(write)}</ul></details>`
  return html`<section class="panel plain-card" aria-labelledby="links">
<h2 id="links">${t('plain_links')}</h2>
<ul>${first.map(write)}</ul>
${rest.length > 0 ? others : html``}
</section>
`
}

/** For links without a text. */
const LINK_LABELS = {
  verify: 'reader_link_verify',
  sign_in: 'reader_link_sign_in',
  reset: 'reader_link_reset',
  unsubscribe: 'plain_unsubscribe',
  other: 'plain_link',
} as const satisfies Record<Link['kind'], string>

/** Only web pages, with the host as the browser parses it, whatever the mail says. */
function safeLink({ url, kind, text }: Link): SafeLink[] {
  if (!URL.canParse(url)) return []
  const { protocol, href, host } = new URL(url)
  return protocol === 'https:' || protocol === 'http:' ? [{ href, host, kind, text }] : []
}

function isActionLink({ kind }: Pick<Link, 'kind'>): boolean {
  return kind === 'verify' || kind === 'sign_in' || kind === 'reset'
}

/** The text part, or the text of the HTML if that says more. */
function fullText({ htmlText, text, truncated }: Mail) {
  const whole = htmlText ?? { text: text ?? '', truncated: truncated === true }
  const shown = whole.text.slice(0, MAX_TEXT_CHARS)
  return { shown, isCut: whole.truncated || shown.length < whole.text.length }
}

const MAX_TARGETS = 500

/** Text made from HTML has the targets of links in brackets. They are shown by their host, because most are very long. */
function withTargets(text: string): Markup[] {
  return text.split(/\[(https?:\/\/[^\s[\]]+)\]/).map((part, at) => {
    if (at % 2 === 0) return html`${part}`
    if (at > 2 * MAX_TARGETS || !URL.canParse(part)) return html`[${part}]`
    const { href, host } = new URL(part)
    return html`[<a href="${href}" rel="noreferrer noopener">${bdi(host)}</a>]`
  })
}

function textSection({ t }: Locale, mail: Mail, hasLinks: boolean): Markup {
  const { shown, isCut } = fullText(mail)
  return html`<section aria-labelledby="text">
<h2 id="text" class="unseen">${t('reader_view_text')}</h2>
${shown.trim() === '' ? html`<p class="plain-none">${t('reader_text_empty')}</p>` : html`<pre class="plain-text" dir="auto">${hasLinks ? withTargets(shown) : shown}</pre>`}
${mail.html === null ? html`` : html`<p class="soft">${t('plain_html')}</p>`}${isCut ? html`<p class="soft">${t('reader_text_truncated')}</p>` : html``}
</section>`
}

function attachmentSection(
  { t, language }: Locale,
  id: number,
  attachments: readonly AttachmentInfo[],
): Markup {
  if (attachments.length === 0) return html``
  return html`<section aria-labelledby="files">
<h2 id="files">${t('reader_attachments', { count: attachments.length })}</h2>
<ul class="plain-files">${attachments.map(
    ({ index, filename, contentType, size }) =>
      html`<li><a href="/plain/mail/${id}/files/${index}" download>${bdi(filename)}</a> <span class="soft"><bdi>${typeName(contentType)}</bdi> · ${formatSize(size, language)}</span></li>
`,
  )}</ul>
<p class="soft">${t('plain_attachment_warning')}</p>
</section>`
}

export const plainMailRoutes = [
  mailboxRoute({
    method: 'GET',
    path: '/plain/mail/{id}',
    input: Type.Object({ id: idField }),
    async respond({ id }, { deps, site, token, request: { client, signal, reserveSendBudget } }) {
      const message = await findMessage(deps, token, id)
      const read = await readMail(deps, message, { client, signal: signal() })
      reserveSendBudget(fullText(read.mail).shown.length)
      return mailPage(site, { message, ...read, token })
    },
  }),
  mailboxRoute({
    method: 'GET',
    path: '/plain/mail/{id}/raw',
    input: Type.Object({ id: idField }),
    respond: ({ id }, { deps, request, token }) =>
      rawMailRoute.handle({ token, id }, deps, request),
  }),
  mailboxRoute({
    method: 'GET',
    path: '/plain/mail/{id}/files/{index}',
    input: Type.Object({ id: idField, index: Type.Integer({ minimum: 0 }) }),
    respond: ({ id, index }, { deps, request, token }) =>
      attachmentRoute.handle({ token, id, index }, deps, request),
  }),
  mailboxRoute({
    method: 'POST',
    path: '/plain/mail/{id}/delete',
    input: Type.Object({ id: idField, proof: Type.Optional(Type.String()) }),
    async respond({ id }, { deps, token }) {
      await deleteMail(deps, token, id)
      return empty(303, { location: INBOX_PATH })
    },
  }),
]
