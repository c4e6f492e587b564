import { isoTimestamp } from '../../../base/time.ts'
import type { MessageSummary } from '../../../mail/rules/message.ts'
import type { Session } from '../../../mail/rules/session.ts'
import { displaySender } from '../../../shared/sender-display.ts'
import { isExampleAddress } from '../../../shared/site.ts'
import type { HttpResponse } from '../../server/response.ts'
import { html, type Markup } from '../html.ts'
import type { Locale } from '../locale.ts'
import type { Site } from '../page.ts'
import { bdi, csrfField, INBOX_PATH, plainPage } from './page.ts'

const REFRESH_SECONDS = 15

interface Inbox {
  session: Session
  token: string
  /** Newest first. */
  messages: readonly MessageSummary[]
  now: Date
  isFull: boolean
  /** The page reloads itself. */
  refreshes: boolean
  /** The reader requested another address, but still has this one. */
  alreadyHasAddress: boolean
}

/** The messages of an address. There is nothing on it that a reload could lose. */
export function inboxPage(site: Site, inbox: Inbox): HttpResponse {
  const { locale } = site
  const { t, language } = locale
  const { session, messages, alreadyHasAddress, isFull, refreshes } = inbox
  const title = t('site_inbox')
  const notice = (text: string) => html`<p class="notice">${text}</p>`
  const isTruncated = session.count > messages.length && messages.length > 0
  return plainPage(site, {
    // The tab shows the number of messages while the reader is elsewhere.
    title: session.count === 0 ? title : `(${session.count.toLocaleString(language)}) ${title}`,
    refresh: refreshes ? REFRESH_SECONDS : undefined,
    content: html`<h1 class="unseen">${title}</h1>
${alreadyHasAddress ? notice(t('plain_already')) : html``}${isFull ? notice(fullText(locale, session)) : html``}
${addressPanel(locale, inbox)}
<section aria-labelledby="mail">
<div class="plain-head row"><h2 id="mail">${t('inbox_title')}</h2>${refreshControls(locale, refreshes)}</div>
${messages.length === 0 ? emptyInbox(locale, inbox) : html`<ul class="plain-list">${messages.map((message) => messageRow(locale, message, inbox.now))}</ul>`}
${isTruncated ? html`<p class="soft">${t('inbox_truncated', { count: messages.length })}</p>` : html``}
</section>`,
  })
}

/** With a rule about messages, deleting some does not help. */
function fullText({ t }: Locale, { rules: { maxMessages: count }, received }: Session): string {
  const hasReachedLimit = count !== undefined && received >= count
  return hasReachedLimit ? t('inbox_limit_reached', { count }) : t('inbox_full')
}

function addressPanel(locale: Locale, { session, token, now }: Inbox): Markup {
  const { t, relativeTime, dateTime } = locale
  const { address, expiresAt } = session
  const [name = '', host = ''] = address.split('@')
  const rest = relativeTime(now, expiresAt)
  return html`<section class="panel" aria-labelledby="address">
<h2 id="address" class="soft">${t('address_title')}</h2>
<p class="plain-address"><span dir="ltr">${name}<wbr>@${host}</span></p>
<p class="soft">${t('plain_expires', { rest, time: dateTime(expiresAt) })}</p>
<div class="row">
<form method="post" action="/plain/extend">${csrfField(token)}<button class="plain">${t('address_extend')}</button></form>
<a class="button quiet" href="/plain/end">${t('address_delete')}</a>
</div>
</section>`
}

function emptyInbox({ t }: Locale, { session: { address, accountId }, token }: Inbox): Markup {
  const notice = isExampleAddress(address)
    ? html`<p class="notice">${t('inbox_example')}</p>`
    : html``
  const testMail = html`${notice}
<form method="post" action="/plain/test">${csrfField(token)}<button class="plain">${t('inbox_test_mail')}</button></form>`
  return html`<p class="plain-none">${t('plain_empty')}</p>
${accountId === undefined ? testMail : html``}`
}

/** Slow readers can stop the reloading (WCAG 2.2.1). */
function refreshControls({ t, duration }: Locale, refreshes: boolean): Markup {
  const text = refreshes
    ? `${t('inbox_looking', { time: duration(REFRESH_SECONDS) })}.`
    : t('plain_paused')
  const [again, other, name] = refreshes
    ? ([INBOX_PATH, '/plain?look=0', 'plain_pause'] as const)
    : (['/plain?look=0', INBOX_PATH, 'plain_resume'] as const)
  return html`<p class="soft">${text} <a href="${again}">${t('inbox_refresh')}</a> <a href="${other}">${t(name)}</a></p>`
}

function messageRow(locale: Locale, message: MessageSummary, now: Date): Markup {
  const { t, relativeTime, dateTime } = locale
  const { id, subject, senderName, senderEmail, receivedAt, code, preview, attachments } = message
  const sender = displaySender(senderName, senderEmail).title || t('reader_no_sender')
  const files = attachments ? t('reader_attachments', { count: attachments }) : ''
  return html`<li>
<a class="plain-subject" href="/plain/mail/${id}">${bdi(subject || t('reader_no_subject'))}</a>
<span class="plain-sender" title="${senderEmail}">${bdi(sender)}</span>
<time class="soft" datetime="${isoTimestamp(receivedAt)}" title="${dateTime(receivedAt)}">${relativeTime(now, receivedAt)}</time>
${files || preview ? html`<span class="plain-preview soft">${files}${files && preview ? ' · ' : ''}${bdi(preview ?? '')}</span>` : html``}
${code ? html`<p class="plain-code"><span class="unseen">${t('reader_code')}</span> <span dir="ltr">${code}</span></p>` : html``}
</li>
`
}

/** Confirmation: deleting cannot be undone. */
export function deleteAddressPage(site: Site, { address }: Session, token: string): HttpResponse {
  const { t, duration } = site.locale
  const { cooldown } = site.config
  const reserved = cooldown > 0 ? t('address_delete_reserved', { time: duration(cooldown) }) : ''
  return plainPage(site, {
    title: t('address_delete_title'),
    content: html`<h1>${t('address_delete_title')}</h1>
<p class="lead">${t('address_delete_how', { email: address })} ${reserved}</p>
<div class="row">
<form method="post" action="/plain/end">${csrfField(token)}<button class="danger">${t('site_delete')}</button></form>
<a class="button plain" href="${INBOX_PATH}">${t('site_cancel')}</a>
</div>`,
  })
}
