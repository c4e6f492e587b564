import { Fragment } from 'preact'
import { displaySender, domainOf } from '../../src/shared/sender-display.ts'
import type { Message, MessageSummary } from '../site/api-client.ts'
import { language, listSeparator, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { regularFiles } from './attachments.tsx'

interface MessageHeaderProps {
  id: string
  summary: MessageSummary
  /** Undefined until all of it is there. */
  message: Message | undefined
  /** What is not known of the sender yet may still come. */
  isChecking: boolean
  /** Where on the page its files are listed. */
  files: string
}

/** From whom, to whom, about what and when. */
export function MessageHeader({ id, summary, message, isChecking, files }: MessageHeaderProps) {
  const { subject, sender_name: name, sender_email: address } = summary
  const { title, address: behind, claimedName } = displaySender(name, address)
  const at = new Date(summary.received_at_iso)
  return (
    <header class="reader-head">
      <h2 id={id} tabIndex={-1}>
        <bdi>{subject || t('reader_no_subject')}</bdi>
      </h2>
      <div class="reader-from">
        <p>
          <span class="unseen">{t('reader_from')}: </span>
          <bdi class="reader-sender">{title || t('reader_nobody')}</bdi>
          {behind && <bdi class="reader-address">{behind}</bdi>}
        </p>
        <time dateTime={summary.received_at_iso}>
          {at.toLocaleString(language.value, { dateStyle: 'medium', timeStyle: 'short' })}
        </time>
      </div>
      {claimedName && <p class="notice bad">{t('reader_claims', { name: claimedName })}</p>}
      <div class="reader-marks">
        <dl class="reader-lines">
          <Recipients words={t('reader_to')} people={message?.to ?? []} />
          <Recipients words={t('reader_cc')} people={message?.cc ?? []} />
          <Recipients words={t('reader_reply_to')} people={otherReplyTo(message, address)} />
        </dl>
        {message?.auth && <SenderChecks checks={message.auth} sender={address} />}
        {message?.auth === null && isChecking && <span class="badge">{t('reader_checking')}</span>}
        <AttachmentsLink count={regularFiles(message?.attachments ?? []).length} place={files} />
      </div>
    </header>
  )
}

/** They stand below the message, which may be long. */
function AttachmentsLink({ count, place }: { count: number; place: string }) {
  if (count === 0) return null
  return (
    <button
      type="button"
      class="quiet reader-files"
      onClick={() => document.getElementById(place)?.focus()}
    >
      <Icon name="file" />
      {t('reader_files', { count })}
    </button>
  )
}

type Person = Message['to'][number]

const MAX_RECIPIENTS = 5

function Recipients({ words, people }: { words: string; people: readonly Person[] }) {
  if (people.length === 0) return null
  const rest = people.length - MAX_RECIPIENTS
  return (
    <>
      <dt>{words}</dt>
      <dd>
        {people.slice(0, MAX_RECIPIENTS).map(({ name, address }, at) => {
          const { title, address: behind } = displaySender(name, address)
          return (
            <Fragment key={`${at} ${address}`}>
              {at > 0 && listSeparator()}
              <bdi>
                {title}
                {behind && ` <${behind}>`}
              </bdi>
            </Fragment>
          )
        })}
        {rest > 0 && ` ${t('reader_more_people', { count: rest })}`}
      </dd>
    </>
  )
}

/** Only where it is another address: then it matters. */
function otherReplyTo(message: Message | undefined, sender: string): Person[] {
  const replyTo = message?.reply_to ?? []
  return replyTo.some(({ address }) => address.toLowerCase() !== sender.toLowerCase())
    ? replyTo
    : []
}

type Checks = NonNullable<Message['auth']>

const BADGES = { proven: 'badge good', forged: 'badge bad', unproven: 'badge' } as const

/** Whether the sender is who he says he is: a word, and why, for who asks. */
export function SenderChecks({ checks, sender }: { checks: Checks; sender: string }) {
  const domain = domainOf(sender)
  // Who names no sender is not said to be somebody else.
  const outcome = domain === '' ? 'unproven' : outcomeOf(checks)
  return (
    <details class="checks">
      <summary class={BADGES[outcome]}>{t(`reader_${outcome}`, { domain })}</summary>
      <p>{t(`reader_${outcome}_why`, { domain })}</p>
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

/** `proven`: the domain's owner vouches for it; `forged`: it failed the owner's check; `unproven`: nobody can tell. */
function outcomeOf({ dmarc }: Checks): keyof typeof BADGES {
  if (dmarc === 'pass') return 'proven'
  return dmarc === 'fail' ? 'forged' : 'unproven'
}
