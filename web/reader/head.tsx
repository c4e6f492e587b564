import { Fragment } from 'preact'
import { displaySender } from '../../src/shared/sender-display.ts'
import { Glyph } from '../site/glyphs.tsx'
import type { Message, Summary } from '../site/shapes.ts'
import { comma, language, say } from '../site/words.ts'
import { filesAmong } from './attachments.tsx'
import { SenderChecks } from './sender-checks.tsx'

interface HeadProps {
  id: string
  summary: Summary
  /** Undefined until all of it is there. */
  message: Message | undefined
  /** What is not known of the sender yet may still come. */
  isChecking: boolean
  /** Where on the page its files are listed. */
  files: string
}

/** From whom, to whom, about what and when. */
export function Head({ id, summary, message, isChecking, files }: HeadProps) {
  const { subject, sender_name: name, sender_email: address } = summary
  const { title, address: behind, claimedName } = displaySender(name, address)
  const at = new Date(summary.received_at_iso)
  return (
    <header class="reader-head">
      <h2 id={id} tabIndex={-1}>
        <bdi>{subject || say('reader_no_subject')}</bdi>
      </h2>
      <div class="reader-from">
        <p>
          <span class="unseen">{say('reader_from')}: </span>
          <bdi class="reader-sender">{title || say('reader_nobody')}</bdi>
          {behind && <bdi class="reader-address">{behind}</bdi>}
        </p>
        <time dateTime={summary.received_at_iso}>
          {at.toLocaleString(language.value, { dateStyle: 'medium', timeStyle: 'short' })}
        </time>
      </div>
      {claimedName && <p class="notice bad">{say('reader_claims', { name: claimedName })}</p>}
      <div class="reader-marks">
        <dl class="reader-lines">
          <People words={say('reader_to')} people={message?.to ?? []} />
          <People words={say('reader_cc')} people={message?.cc ?? []} />
          <People words={say('reader_reply_to')} people={elsewhere(message, address)} />
        </dl>
        {message?.auth && <SenderChecks checks={message.auth} sender={address} />}
        {message?.auth === null && isChecking && (
          <span class="badge">{say('reader_checking')}</span>
        )}
        <FilesBelow count={filesAmong(message?.attachments ?? []).length} place={files} />
      </div>
    </header>
  )
}

/** They stand below the message, which may be long. */
function FilesBelow({ count, place }: { count: number; place: string }) {
  if (count === 0) return null
  return (
    <button
      type="button"
      class="quiet reader-files"
      onClick={() => document.getElementById(place)?.focus()}
    >
      <Glyph name="file" />
      {say('reader_files', { count })}
    </button>
  )
}

type Person = Message['to'][number]

const SHOWN = 5

function People({ words, people }: { words: string; people: readonly Person[] }) {
  if (people.length === 0) return null
  const rest = people.length - SHOWN
  return (
    <>
      <dt>{words}</dt>
      <dd>
        {people.slice(0, SHOWN).map(({ name, address }, at) => {
          const { title, address: behind } = displaySender(name, address)
          return (
            <Fragment key={`${at} ${address}`}>
              {at > 0 && comma()}
              <bdi>
                {title}
                {behind && ` <${behind}>`}
              </bdi>
            </Fragment>
          )
        })}
        {rest > 0 && ` ${say('reader_more_people', { count: rest })}`}
      </dd>
    </>
  )
}

/** Only where it is another address: then it matters. */
function elsewhere(message: Message | undefined, sender: string): Person[] {
  const replyTo = message?.reply_to ?? []
  return replyTo.some(({ address }) => address.toLowerCase() !== sender.toLowerCase())
    ? replyTo
    : []
}
