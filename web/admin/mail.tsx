import { useEffect, useRef, useState } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { Confirmed } from '../site/confirmed.tsx'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { formatDateTime } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Entry, EntryList } from './list.tsx'
import { call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Summary = Response<'GET /admin/api/mail'>['messages'][number]

/** Mail to postmaster and abuse. */
export function MailView() {
  const [openId, open] = useState<number | undefined>(undefined)
  return openId === undefined ? (
    <MailList onOpen={open} />
  ) : (
    <OpenMail id={openId} onClose={() => open(undefined)} />
  )
}

function MailList({ onOpen }: { onOpen(id: number): void }) {
  const loaded = useLoaded('GET /admin/api/mail')
  const { isBusy, error, run } = useAction(loaded.reload)
  const newest = loaded.value?.messages[0]
  return (
    <>
      <p class="soft">{a('admin_privacy')}</p>
      <section class="panel">
        <EntryList
          label={a('admin_view_mail')}
          loaded={loaded}
          entries={loaded.value?.messages}
          keyOf={({ id }) => id}
        >
          {(message) => (
            <Entry
              title={<bdi>{subjectOf(message)}</bdi>}
              facts={factsOf(message)}
              actions={
                <>
                  <Button
                    class="plain"
                    aria-label={`${a('admin_mail_read')}: ${subjectOf(message)}`}
                    onClick={() => onOpen(message.id)}
                  >
                    {a('admin_mail_read')}
                  </Button>
                  <Confirmed
                    name={t('site_delete')}
                    label={subjectOf(message)}
                    class="danger"
                    disabled={isBusy}
                    run={() => run(() => call('POST /admin/api/mail/delete', { id: message.id }))}
                  >
                    {a('admin_mail_delete_how')}
                  </Confirmed>
                </>
              }
            />
          )}
        </EntryList>
        <ErrorMessage error={error} />
      </section>
      {newest && (
        <div class="row">
          <Confirmed
            name={a('admin_mail_delete_all')}
            class="danger"
            disabled={isBusy}
            run={() =>
              run(() => call('POST /admin/api/mail/delete', { all: true, up_to_id: newest.id }))
            }
          >
            {a('admin_mail_delete_all_how')}
          </Confirmed>
        </div>
      )}
    </>
  )
}

function OpenMail({ id, onClose }: { id: number; onClose(): void }) {
  const { value, error, isLoading } = useLoaded('GET /admin/api/mail/{id}', { id })
  const heading = useRef<HTMLHeadingElement>(null)
  const message = value?.message
  useEffect(() => heading.current?.focus(), [message])
  return (
    <>
      <div class="row">
        <Button class="plain" onClick={onClose}>
          {a('admin_mail_back')}
        </Button>
      </div>
      <ErrorMessage error={error} />
      {isLoading && <p class="soft">{t('site_loading')}</p>}
      {message && (
        <article class="panel">
          <h3 ref={heading} tabIndex={-1}>
            <bdi>{subjectOf(message)}</bdi>
          </h3>
          <dl class="facts">
            {factsOf(message).map(([name, text]) => (
              <>
                <dt>{name}</dt>
                <dd>{text}</dd>
              </>
            ))}
            {message.attachments.length > 0 && (
              <>
                <dt>{a('admin_mail_files')}</dt>
                <dd>
                  {message.attachments.map(({ filename, size }, index) => (
                    <div key={index}>
                      <bdi>{filename}</bdi> <span class="soft">{sizeText(size)}</span>
                    </div>
                  ))}
                </dd>
              </>
            )}
          </dl>
          {message.truncated && <p class="notice">{a('admin_mail_cut')}</p>}
          <pre class="admin-mail" dir="auto">
            {message.text}
          </pre>
        </article>
      )}
    </>
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
    [a('admin_mail_received'), received && formatDateTime(received)],
    [a('admin_size'), sizeText(message.size)],
  ] as const
}

function sizeText(bytes: number): string {
  return formatSize(bytes, language.value)
}
