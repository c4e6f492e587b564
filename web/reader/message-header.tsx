import { Fragment } from 'preact'
import { displaySender, senderBadge } from '../../src/shared/sender-display.ts'
import type { Message, MessageSummary } from '../site/api-client.ts'
import { Button } from '../site/controls.tsx'
import { language, listSeparator, t } from '../site/i18n.ts'
import { regularFiles } from './attachments.tsx'

interface MessageHeaderProps {
  id: string
  summary: MessageSummary
  /** Undefined until it is loaded. */
  message: Message | undefined
  isChecking: boolean
  /** Element id of the list of attachments. */
  attachmentsId: string
}

export function MessageHeader(props: MessageHeaderProps) {
  const { id, summary, message, isChecking, attachmentsId } = props
  const { subject, sender_name: name, sender_email: address } = summary
  const { title, address: shownAddress, claimedName } = displaySender(name, address)
  const at = new Date(summary.received_at_iso)
  return (
    <header class="reader-head">
      <h2 id={id} tabIndex={-1}>
        <bdi>{subject || t('reader_no_subject')}</bdi>
      </h2>
      <div class="reader-from row">
        <p>
          <span class="unseen">{t('reader_from')}: </span>
          <bdi class="reader-sender">{title || t('reader_no_sender')}</bdi>
          {shownAddress && <bdi class="reader-address">{shownAddress}</bdi>}
        </p>
        <time dateTime={summary.received_at_iso}>
          {at.toLocaleString(language.value, { dateStyle: 'medium', timeStyle: 'short' })}
        </time>
      </div>
      {claimedName && <p class="notice bad">{t('reader_claimed_name', { name: claimedName })}</p>}
      <div class="reader-marks row">
        <dl class="reader-lines">
          <Recipients label={t('reader_to')} people={message?.to ?? []} />
          <Recipients label={t('reader_cc')} people={message?.cc ?? []} />
          <Recipients label={t('reader_reply_to')} people={otherReplyTo(message, address)} />
        </dl>
        {message?.auth && <SenderChecks checks={message.auth} sender={address} />}
        {message?.auth === null && isChecking && <span class="badge">{t('reader_checking')}</span>}
        <AttachmentsLink
          count={regularFiles(message?.attachments ?? []).length}
          target={attachmentsId}
        />
      </div>
    </header>
  )
}

/** Attachments are listed below the body, which may be long. */
function AttachmentsLink({ count, target }: { count: number; target: string }) {
  if (count === 0) return null
  return (
    <Button
      icon="file"
      class="quiet reader-files"
      onClick={() => document.getElementById(target)?.focus()}
    >
      {t('reader_attachments', { count })}
    </Button>
  )
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
        {people.slice(0, MAX_RECIPIENTS).map(({ name, address }, index) => {
          const { title, address: shownAddress } = displaySender(name, address)
          return (
            <Fragment key={`${index} ${address}`}>
              {index > 0 && listSeparator()}
              <bdi>
                {title}
                {shownAddress && ` <${shownAddress}>`}
              </bdi>
            </Fragment>
          )
        })}
        {rest > 0 && ` ${t('reader_more_recipients', { count: rest })}`}
      </dd>
    </>
  )
}

/** Only if it differs from the sender. */
function otherReplyTo(message: Message | undefined, sender: string): Person[] {
  const replyTo = message?.reply_to ?? []
  return replyTo.some(({ address }) => address.toLowerCase() !== sender.toLowerCase())
    ? replyTo
    : []
}

type Checks = NonNullable<Message['auth']>

/** A badge, with the reasons on demand. */
function SenderChecks({ checks, sender }: { checks: Checks; sender: string }) {
  const { domain, badge, tone } = senderBadge(sender, checks.dmarc)
  return (
    <details class="checks">
      <summary class={`badge ${tone}`}>{t(`reader_${badge}`, { domain })}</summary>
      <p>{t(`reader_${badge}_why`, { domain })}</p>
      <dl class="facts">
        {(['dmarc', 'dkim', 'spf'] as const).map((name) => (
          <>
            <dt key={name}>{t(`reader_${name}`)}</dt>
            <dd>{t(`reader_check_${checks[name]}`)}</dd>
          </>
        ))}
      </dl>
    </details>
  )
}
