import type { MessageSummary } from '../../../core/message.ts'
import type { Session } from '../../../core/session.ts'
import { isoTimestamp } from '../../../core/time.ts'
import { displaySender } from '../../../shared/sender-display.ts'
import type { HttpResponse } from '../../server/response.ts'
import { html, type Markup } from '../html.ts'
import type { Locale } from '../locale.ts'
import { bdi, csrfField, INBOX_PATH, type PlainSite, plainPage } from './page.ts'

const REFRESH_SECONDS = 15

interface Inbox {
  session: Session
  token: string
  /** Newest first. */
  messages: readonly MessageSummary[]
  now: Date
  full: boolean
  /** Whether it looks for mail by itself. */
  looks: boolean
  /** The reader asked for another address and has this one still. */
  still: boolean
}

/** The mail of an address, looking again and again. Nothing on it can be lost by that. */
export function inboxPage(site: PlainSite, inbox: Inbox): HttpResponse {
  const { locale } = site
  const { say, number } = locale
  const { session, messages, still, full, looks } = inbox
  const title = say('inbox_title')
  const notice = (text: string) => html`<p class="notice">${text}</p>`
  const isTruncated = session.count > messages.length && messages.length > 0
  return plainPage(site, {
    // The tab tells of mail while the reader is elsewhere.
    title: session.count === 0 ? title : `(${number(session.count)}) ${title}`,
    ...(looks ? { refresh: REFRESH_SECONDS } : {}),
    content: html`<h1 class="unseen">${title}</h1>
${still ? notice(say('inbox_still')) : html``}${full ? notice(say('inbox_full')) : html``}
${addressPanel(locale, inbox)}
<section aria-labelledby="mail">
<div class="plain-head"><h2 id="mail">${say('inbox_mail')}</h2>${refreshControls(locale, looks)}</div>
${messages.length === 0 ? html`<p class="plain-none">${say('inbox_none')}</p>` : html`<ul class="plain-list">${messages.map((message) => messageRow(locale, message, inbox.now))}</ul>`}
${isTruncated ? html`<p class="soft">${say('inbox_newest', { count: number(messages.length), total: number(session.count) })}</p>` : html``}
</section>`,
  })
}

function addressPanel(locale: Locale, { session, token, now }: Inbox): Markup {
  const { say, relativeTime, dateTime } = locale
  const { address, expiresAt } = session
  const [name = '', host = ''] = address.split('@')
  const ends = say('inbox_ends', { rest: relativeTime(now, expiresAt), time: dateTime(expiresAt) })
  return html`<section class="panel" aria-labelledby="address">
<h2 id="address" class="soft">${say('inbox_address')}</h2>
<p class="plain-address"><span dir="ltr">${name}@<wbr>${host}</span></p>
<p class="soft">${ends}</p>
<div class="row">
<form method="post" action="/plain/extend">${csrfField(token)}<button class="plain">${say('inbox_extend')}</button></form>
<a class="button quiet" href="/plain/end">${say('inbox_end')}</a>
</div>
</section>`
}

/** Who reads slowly can stop it (WCAG 2.2.1). */
function refreshControls({ say, number }: Locale, looks: boolean): Markup {
  const text = looks ? say('inbox_looks', { count: number(REFRESH_SECONDS) }) : say('inbox_paused')
  const [again, other, name] = looks
    ? ([INBOX_PATH, '/plain?look=0', 'inbox_pause'] as const)
    : (['/plain?look=0', INBOX_PATH, 'inbox_resume'] as const)
  return html`<p class="soft">${text} <a href="${again}">${say('inbox_look')}</a> <a href="${other}">${say(name)}</a></p>`
}

function messageRow(locale: Locale, message: MessageSummary, now: Date): Markup {
  const { say, relativeTime, dateTime } = locale
  const { id, subject, senderName, senderEmail, receivedAt, code } = message
  const sender = displaySender(senderName, senderEmail).title || say('mail_no_sender')
  return html`<li>
<a class="plain-subject" href="/plain/mail/${id}">${bdi(subject || say('mail_no_subject'))}</a>
<span class="plain-sender" title="${senderEmail}">${bdi(sender)}</span>
<time class="soft" datetime="${isoTimestamp(receivedAt)}" title="${dateTime(receivedAt)}">${relativeTime(now, receivedAt)}</time>
${code ? html`<p class="plain-code"><span class="unseen">${say('mail_code')}</span> <span dir="ltr">${code}</span></p>` : html``}
</li>
`
}

/** Asks before it is done: there is no way back. */
export function deleteAddressPage(
  site: PlainSite,
  { address }: Session,
  token: string,
): HttpResponse {
  const { say } = site.locale
  return plainPage(site, {
    title: say('end_title'),
    content: html`<h1>${say('end_title')}</h1>
<p class="lead">${say('end_text', { address })}</p>
<div class="row">
<form method="post" action="/plain/end">${csrfField(token)}<button class="danger">${say('end_do')}</button></form>
<a class="button plain" href="${INBOX_PATH}">${say('end_keep')}</a>
</div>`,
  })
}
