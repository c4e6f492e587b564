import { useEffect, useRef } from 'preact/hooks'
import type { Action } from '../site/action.tsx'
import { ErrorMessage } from '../site/controls.tsx'
import { type FactList, Facts } from '../site/facts.tsx'
import { t } from '../site/i18n.ts'
import { useKeptFocus } from '../site/kept-focus.ts'
import type { AdminSession, OperatorMail, OperatorMailSummary } from './api.ts'
import { blockAction } from './blocks.tsx'
import { DialogForm } from './form.tsx'
import { ActionResult, Entries, listView } from './list.tsx'
import { sessionEntry } from './sessions.tsx'
import { calling, useAction, useLoaded } from './state.ts'
import { a, sizeText, timeText } from './texts.ts'

/** Mail to postmaster and abuse. */
export const mailView = listView('mail', () => ({
  lead: a('admin_privacy'),
  entry(message) {
    const { id } = message
    const name = subjectOf(message)
    return {
      key: id,
      name,
      title: <bdi>{name}</bdi>,
      facts: factsOf(message),
      actions: [
        { text: a('admin_mail_read'), href: `#mail/${id}` },
        {
          text: t('site_delete'),
          danger: true,
          confirm: a('admin_mail_delete_how'),
          run: calling('POST /admin/api/mail/delete', { id }, a('admin_done_deleted', { name })),
        },
      ],
    }
  },
  // What has arrived since the list was loaded stays.
  foot: (newest) => ({
    text: a('admin_mail_delete_all'),
    danger: true,
    confirm: a('admin_mail_delete_all_how'),
    run: calling(
      'POST /admin/api/mail/delete',
      { all: true, up_to_id: newest.id },
      a('admin_done_deleted', { name: a('admin_view_mail') }),
    ),
  }),
}))

export function OpenMail({ id }: { id: number }) {
  const { value, error, isLoading, reload } = useLoaded('GET /admin/api/mail/{id}', { id })
  const action = useAction(reload)
  const keptFocus = useKeptFocus(value, '.entries > li')
  return (
    <section class="stack" tabIndex={-1} {...keptFocus}>
      <div class="row">
        <a class="button plain" href="#mail">
          {a('admin_mail_back')}
        </a>
        {value && (
          <>
            <a class="button plain" href={`/admin/api/mail/${id}/raw`} download>
              {t('reader_save')}
            </a>
            <DialogForm {...blockAction(value.message.sender_email)} action={action} />
          </>
        )}
      </div>
      <ErrorMessage error={error} />
      {!value && isLoading && <p class="soft">{t('site_loading')}</p>}
      {value && <MailText message={value.message} />}
      {value && value.sessions.length > 0 && (
        <NamedSessions sessions={value.sessions} action={action} />
      )}
      <ActionResult action={action} />
    </section>
  )
}

interface NamedSessionsProps {
  sessions: readonly AdminSession[]
  action: Action
}

function NamedSessions({ sessions, action }: NamedSessionsProps) {
  const label = a('admin_mail_named')
  return (
    <section class="panel" aria-label={label}>
      <h3>{label}</h3>
      <Entries label={label} entries={sessions.map(sessionEntry)} action={action} />
    </section>
  )
}

function MailText({ message }: { message: OperatorMail }) {
  const { attachments, truncated, text } = message
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [message.id])
  const files = attachments.map(({ filename, size }): FactList[number] => [
    a('admin_mail_files'),
    `${filename} (${sizeText(size)})`,
  ])
  return (
    <article class="panel">
      <h3 ref={heading} tabIndex={-1}>
        <bdi>{subjectOf(message)}</bdi>
      </h3>
      <Facts facts={[...factsOf(message), ...files]} />
      {truncated && <p class="notice">{a('admin_mail_cut')}</p>}
      <pre class="admin-mail" dir="auto">
        {text}
      </pre>
    </article>
  )
}

function subjectOf({ subject }: Pick<OperatorMailSummary, 'subject'>): string {
  return subject === '' ? t('reader_no_subject') : subject
}

function factsOf(message: OperatorMailSummary): FactList {
  const { sender_name: name, sender_email: email } = message
  return [
    [a('admin_mail_from'), name === '' ? email : `${name} <${email}>`],
    [a('admin_mail_to'), message.to],
    [a('admin_mail_received'), timeText(message.received_at_iso)],
    [a('admin_size'), sizeText(message.size)],
  ]
}
