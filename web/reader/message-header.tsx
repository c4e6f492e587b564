import { Fragment } from 'preact'
import { displaySender, senderBadge } from '../../src/shared/sender-display.ts'
import type { Message, MessageSummary } from '../site/api.ts'
import { formatShortTime } from '../site/format.ts'
import { listSeparator, t } from '../site/i18n.ts'
import { Popover } from '../site/popover.tsx'

interface MessageHeaderProps {
  id: string
  summary: MessageSummary
  /** Undefined until it is loaded. */
  message: Message | undefined
  isChecking: boolean
}

/** Subject and sender; the rest on demand. */
export function MessageHeader({ id, summary, message, isChecking }: MessageHeaderProps) {
  const { sender_name: name, sender_email: address } = summary
  const { title, address: shownAddress } = displaySender(name, address)
  const subject = summary.subject || t('reader_no_subject')
  return (
    <header class="reader-title">
      <h2 id={id} tabIndex={-1} title={subject}>
        <bdi>{subject}</bdi>
      </h2>
      <div class="reader-from">
        <p>
          <span class="unseen">{t('reader_from')}: </span>
          <bdi class="reader-sender">{title || t('reader_no_sender')}</bdi>
          {shownAddress && <bdi class="reader-address">{shownAddress}</bdi>}
        </p>
        <Details summary={summary} message={message} isChecking={isChecking} />
        <Received at={summary.received_at_iso} />
      </div>
      <dl class="reader-lines">
        <Recipients label={t('reader_reply_to')} people={otherReplyTo(message, address)} />
      </dl>
    </header>
  )
}

function Received({ at }: { at: string }) {
  return <time dateTime={at}>{formatShortTime(at)}</time>
}

type DetailsProps = Pick<MessageHeaderProps, 'summary' | 'message' | 'isChecking'>

/** A badge with the result of the sender checks, and behind it the reasons and all lines of the header. */
function Details({ summary, message, isChecking }: DetailsProps) {
  const { sender_name: name, sender_email: address } = summary
  const checks = message?.auth
  const { domain, badge, tone } = checks
    ? senderBadge(address, checks.dmarc)
    : { domain: '', badge: undefined, tone: '' }
  const label = badge
    ? t(`reader_${badge}`, { domain })
    : t(isChecking ? 'reader_checking' : 'reader_details')
  return (
    <Popover label={label} caption={label} class={`badge ${tone}`} panelClass="reader-details">
      <p class="reader-subject">
        <bdi>{summary.subject || t('reader_no_subject')}</bdi>
      </p>
      <dl class="facts">
        <Recipients label={t('reader_from')} people={[{ name, address }]} />
        <Recipients label={t('reader_to')} people={message?.to ?? []} />
        <Recipients label={t('reader_cc')} people={message?.cc ?? []} />
        <Recipients label={t('reader_reply_to')} people={otherReplyTo(message, address)} />
        <dt>{t('reader_received')}</dt>
        <dd>
          <Received at={summary.received_at_iso} />
        </dd>
      </dl>
      {badge && checks && (
        <>
          <p>{t(`reader_${badge}_why`, { domain })}</p>
          <dl class="facts">
            {(['dmarc', 'dkim', 'spf'] as const).map((check) => (
              <Fragment key={check}>
                <dt>{t(`reader_${check}`)}</dt>
                <dd>{t(`reader_check_${resultOf(check, checks[check])}`)}</dd>
              </Fragment>
            ))}
          </dl>
        </>
      )}
    </Popover>
  )
}

type Checks = NonNullable<Message['auth']>

function resultOf(check: 'dmarc' | 'dkim' | 'spf', result: Checks['dkim']) {
  return check === 'dkim' && result === 'none' ? 'unsigned' : result
}

type Person = Message['to'][number]

const MAX_RECIPIENTS = 5

function Recipients({ label, people }: { label: string; people: readonly Person[] }) {
  if (people.length === 0) return null
  const rest = people.length - MAX_RECIPIENTS
  return (
    <>
      <dt>{label}</dt>
      <dd>
        {people.slice(0, MAX_RECIPIENTS).map(({ name, address }, index) => (
          <Fragment key={`${index} ${address}`}>
            {index > 0 && listSeparator()}
            <bdi>{personText(name, address)}</bdi>
          </Fragment>
        ))}
        {rest > 0 && ` ${t('reader_more_recipients', { count: rest })}`}
      </dd>
    </>
  )
}

/** `Ann <ann@example.com>` */
export function personText(name: string, address: string): string {
  const { title, address: shownAddress } = displaySender(name, address)
  return shownAddress ? `${title} <${shownAddress}>` : title || t('reader_no_sender')
}

/** Only if it differs from the sender. */
function otherReplyTo(message: Message | undefined, sender: string): Person[] {
  const replyTo = message?.reply_to ?? []
  return replyTo.some(({ address }) => address.toLowerCase() !== sender.toLowerCase())
    ? replyTo
    : []
}
