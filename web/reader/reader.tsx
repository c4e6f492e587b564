import { useEffect, useId, useState } from 'preact/hooks'
import { displaySender, isSuspicious } from '../../src/shared/sender-display.ts'
import type { Message, MessageSummary } from '../site/api.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Tabs } from '../site/tabs.tsx'
import { AttachmentStrip, Attachments, attachmentsLabel } from './attachments.tsx'
import { CodeCard, LinkCard } from './cards.tsx'
import { HtmlView, loadSanitiser } from './html-view.tsx'
import { Invitation } from './invitation.tsx'
import { LinksView } from './links-view.tsx'
import { MessageHeader } from './message-header.tsx'
import { printMessage } from './print.ts'
import { HeadersView, HtmlSource, RawView, TextView } from './text-views.tsx'
import { ReaderActions, type ReaderProps, type View } from './toolbar.tsx'
import { LoadingOrError } from './use-fetched.tsx'
import { useMessage } from './use-message.ts'
import './reader.css'
import './views.css'

/** Head and tabs stay in place; below them a single part scrolls. */
export function Reader(props: ReaderProps) {
  const { token, summary, onBack, onShown } = props
  const { fetched, message, isChecking } = useMessage(token, summary)
  const [chosen, choose] = useState<{ id: number; view: View }>()
  const id = useId()
  useEffect(() => {
    // In parallel with the message. HtmlView handles a failure.
    loadSanitiser().catch(() => {})
  }, [])
  useEffect(() => {
    if (!message) return
    // The browser itself would print only the visible part of the frame.
    const print = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== 'p') return
      event.preventDefault()
      printMessage(message)
    }
    addEventListener('keydown', print)
    return () => removeEventListener('keydown', print)
  }, [message])
  const views = message ? viewsOf(message) : []
  const view = (chosen?.id === summary.id ? chosen.view : views[0]?.[0]) ?? 'text'
  const onView = (name: View) => choose({ id: summary.id, view: name })
  const { claimedName } = displaySender(summary.sender_name, summary.sender_email)
  return (
    <article class="reader" aria-labelledby={id} aria-busy={fetched.kind === 'loading'}>
      <div class="reader-head">
        <Button
          icon="back"
          class="quiet icon reader-back"
          aria-label={t('reader_back')}
          title={t('reader_back')}
          onClick={onBack}
        />
        <MessageHeader
          key={summary.id}
          id={id}
          summary={summary}
          message={message}
          isChecking={isChecking}
        />
        <ReaderActions {...props} message={message} views={views} view={view} onView={onView} />
      </div>
      {claimedName && <p class="notice bad">{t('reader_claimed_name', { name: claimedName })}</p>}
      <div class="cards">
        <CodeCard key={`code ${summary.id}`} codes={codesOf(summary, message)} />
        {message && !isSuspicious(message.sender_name, message.sender_email, message.auth) && (
          <LinkCard links={message.links} />
        )}
        {message && <Invitation attachments={message.attachments} token={token} />}
      </div>
      {message ? (
        <Tabs<View>
          label={t('reader_views')}
          tabs={views}
          chosen={view}
          onChoose={onView}
          scrolls={view !== 'html'}
        >
          <Body
            key={`${view} ${message.id}`}
            view={view}
            message={message}
            token={token}
            onShown={onShown}
          />
        </Tabs>
      ) : (
        <LoadingOrError fetched={fetched} />
      )}
      {message && (view === 'html' || view === 'text') && (
        <AttachmentStrip
          key={message.id}
          attachments={message.attachments}
          token={token}
          onShowAll={() => onView('files')}
        />
      )}
    </article>
  )
}

/** The summary has the most likely code before the message is loaded. */
function codesOf({ code }: MessageSummary, message: Message | undefined): string[] {
  if (message) return message.codes.map(({ value }) => value)
  return code ? [code] : []
}

/** Those that the message has, with their labels. */
function viewsOf({ body_html: html, attachments, links }: Message): [View, string][] {
  const labels: Record<View, string | false> = {
    html: html !== null && html !== '' && t('reader_view_html'),
    text: t('reader_view_text'),
    files: attachments.length > 0 && attachmentsLabel(attachments),
    links: links.length > 0 && t('reader_links', { count: links.length }),
    headers: t('reader_view_headers'),
    code: html !== null && html !== '' && t('reader_view_code'),
    raw: t('reader_view_raw'),
  }
  return (Object.keys(labels) as View[]).flatMap((view): [View, string][] => {
    const label = labels[view]
    return label ? [[view, label]] : []
  })
}

interface BodyProps {
  view: View
  message: Message
  token: string
  onShown(): void
}

function Body({ view, message, token, onShown }: BodyProps) {
  useEffect(() => {
    if (view === 'text') onShown()
  }, [])
  switch (view) {
    case 'html':
      return <HtmlView message={message} token={token} onShown={onShown} />
    case 'text':
      return <TextView text={message.body_text} />
    case 'files':
      return <Attachments attachments={message.attachments} token={token} />
    case 'links':
      return <LinksView links={message.links} />
    case 'headers':
      return <HeadersView message={message} token={token} />
    case 'code':
      return <HtmlSource html={message.body_html ?? ''} />
    case 'raw':
      return <RawView message={message} token={token} />
  }
}
