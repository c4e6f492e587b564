import { useEffect, useRef } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { Confirmed } from '../site/confirmed.tsx'
import { ErrorMessage } from '../site/controls.tsx'
import { formatShortTime } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Entry, EntryList } from './list.tsx'
import { type Action, call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Summary = Response<'GET /admin/api/mail'>['messages'][number]
type Message = Response<'GET /admin/api/mail/{id}'>['message']

/** Mail to postmaster and abuse. */
export function MailView({ id }: { id: number | undefined }) {
  return id === undefined ? <MailList /> : <OpenMail id={id} />
}

function MailList() {
  const loaded = useLoaded('GET /admin/api/mail')
  const action = useAction(loaded.reload)
  const newest = loaded.value?.messages[0]
  return (
    <>
      <p class="soft">{a('admin_privacy')}</p>
      <EntryList
        label={a('admin_view_mail')}
        loaded={loaded}
        entries={loaded.value?.messages}
        action={action}
        foot={newest && <DeleteAll newestId={newest.id} action={action} />}
        keyOf={({ id }) => id}
      >
        {(message) => <MailEntry message={message} action={action} />}
      </EntryList>
    </>
  )
}

function MailEntry({ message, action }: { message: Summary; action: Action }) {
  const { id } = message
  const subject = subjectOf(message)
  return (
    <Entry
      title={<bdi>{subject}</bdi>}
      facts={factsOf(message)}
      actions={
        <>
          <a
            class="button plain"
            href={`#mail/${id}`}
            aria-label={`${a('admin_mail_read')}: ${subject}`}
          >
            {a('admin_mail_read')}
          </a>
          <Confirmed
            name={t('site_delete')}
            label={subject}
            class="danger"
            disabled={action.isBusy}
            run={() =>
              action.run(
                () => call('POST /admin/api/mail/delete', { id }),
                a('admin_done_deleted', { name: subject }),
              )
            }
          >
            {a('admin_mail_delete_how')}
          </Confirmed>
        </>
      }
    />
  )
}

/** What has arrived since the list was loaded stays. */
function DeleteAll({ newestId, action }: { newestId: number; action: Action }) {
  const values = { all: true, up_to_id: newestId }
  return (
    <div class="row admin-foot">
      <Confirmed
        name={a('admin_mail_delete_all')}
        class="danger"
        disabled={action.isBusy}
        run={() =>
          action.run(
            () => call('POST /admin/api/mail/delete', values),
            a('admin_done_deleted', { name: a('admin_view_mail') }),
          )
        }
      >
        {a('admin_mail_delete_all_how')}
      </Confirmed>
    </div>
  )
}

function OpenMail({ id }: { id: number }) {
  const { value, error, isLoading } = useLoaded('GET /admin/api/mail/{id}', { id })
  const message = value?.message
  return (
    <>
      <div class="row">
        <a class="button plain" href="#mail">
          {a('admin_mail_back')}
        </a>
        {message && (
          <a class="button plain" href={`/admin/api/mail/${id}/raw`} download>
            {t('reader_save')}
          </a>
        )}
      </div>
      <ErrorMessage error={error} />
      {isLoading && <p class="soft">{t('site_loading')}</p>}
      {message && <MailText message={message} />}
    </>
  )
}

function MailText({ message }: { message: Message }) {
  const { attachments, truncated, text } = message
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [message.id])
  return (
    <article class="panel">
      <h3 ref={heading} tabIndex={-1}>
        <bdi>{subjectOf(message)}</bdi>
      </h3>
      <dl class="facts">
        {factsOf(message).map(([name, fact]) => (
          <>
            <dt>{name}</dt>
            <dd>
              <bdi>{fact}</bdi>
            </dd>
          </>
        ))}
        {attachments.length > 0 && (
          <>
            <dt>{a('admin_mail_files')}</dt>
            <dd>
              {attachments.map(({ filename, size }, index) => (
                <div key={index}>
                  <bdi>{filename}</bdi> <span class="soft">{sizeText(size)}</span>
                </div>
              ))}
            </dd>
          </>
        )}
      </dl>
      {truncated && <p class="notice">{a('admin_mail_cut')}</p>}
      <pre class="admin-mail" dir="auto">
        {text}
      </pre>
    </article>
  )
}

function subjectOf({ subject }: Pick<Summary, 'subject'>): string {
  return subject === '' ? t('reader_no_subject') : subject
}

function factsOf(message: Summary) {
  const { sender_name: name, sender_email: email, received_at_iso: received } = message
  return [
    [a('admin_mail_from'), name === '' ? email : `${name} <${email}>`],
    [a('admin_mail_to'), message.to],
    [a('admin_mail_received'), received && formatShortTime(received)],
    [a('admin_size'), sizeText(message.size)],
  ] as const
}

function sizeText(bytes: number): string {
  return formatSize(bytes, language.value)
}
