import { useEffect, useId, useState } from 'preact/hooks'
import { isSuspicious } from '../../src/shared/sender-display.ts'
import type { Message, MessageSummary } from '../site/api-client.ts'
import { Button, type ButtonProps } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Tabs } from '../site/tabs.tsx'
import { Attachments } from './attachments.tsx'
import { CodeCard, LinkCard } from './cards.tsx'
import { HtmlView, type HtmlViewProps, loadSanitiser } from './html-view.tsx'
import { MessageHeader } from './message-header.tsx'
import { SaveButton } from './save-button.tsx'
import { HeadersView, RawView, TextView } from './text-views.tsx'
import { LoadingOrError } from './use-fetched.tsx'
import { useMessage } from './use-message.ts'
import './reader.css'
import './views.css'

interface ReaderProps {
  token: string
  summary: MessageSummary
  onBack(): void
  /** Undefined if there is no newer or older message. */
  onNewer: (() => void) | undefined
  onOlder: (() => void) | undefined
  onDelete(): void
  /** The body is displayed: not while loading, nor after a failure. */
  onShown(): void
}

export function Reader(props: ReaderProps) {
  const { token, summary, onShown } = props
  const { fetched, message, isChecking } = useMessage(token, summary)
  const id = useId()
  useEffect(() => {
    // In parallel with the message. HtmlView handles a failure.
    loadSanitiser().catch(() => {})
  }, [])
  return (
    <article class="reader" aria-labelledby={id} aria-busy={fetched.kind === 'loading'}>
      <ReaderToolbar {...props} />
      <MessageHeader
        key={`head ${summary.id}`}
        id={id}
        summary={summary}
        message={message}
        isChecking={isChecking}
        attachmentsId={`${id}-files`}
      />
      <div class="cards">
        <CodeCard key={`code ${summary.id}`} codes={codesOf(summary, message)} />
        {message && !isSuspicious(message.sender_name, message.sender_email, message.auth) && (
          <LinkCard links={message.links} />
        )}
      </div>
      {message ? (
        <>
          <Views key={`views ${message.id}`} message={message} token={token} onShown={onShown} />
          <Attachments
            key={`files ${message.id}`}
            attachments={message.attachments}
            token={token}
            id={`${id}-files`}
          />
        </>
      ) : (
        <LoadingOrError fetched={fetched} />
      )}
    </article>
  )
}

/** The summary has the most likely code before the message is loaded. */
function codesOf({ code }: MessageSummary, message: Message | undefined): string[] {
  if (message) return message.codes.map(({ value }) => value)
  return code ? [code] : []
}

function ReaderToolbar(props: ReaderProps) {
  const { token, summary, onBack, onNewer, onOlder, onDelete } = props
  const { id } = summary
  return (
    <div class="reader-bar row">
      <Button icon="back" class="quiet reader-back" onClick={onBack}>
        <span>{t('reader_back')}</span>
      </Button>
      <StepButton label={t('reader_newer')} icon="up" onClick={onNewer} />
      <StepButton label={t('reader_older')} icon="down" onClick={onOlder} />
      <span class="reader-gap" />
      <SaveButton
        key={id}
        path={`/api/raw-mail?id=${id}`}
        token={token}
        name={`message-${id}.eml`}
        caption={t('reader_save')}
        class="quiet reader-save"
      />
      <Button icon="bin" class="quiet reader-delete" onClick={onDelete}>
        <span>{t('site_delete')}</span>
      </Button>
    </div>
  )
}

function StepButton({ label, ...button }: { label: string } & ButtonProps) {
  const { onClick } = button
  return (
    <Button class="quiet icon" aria-label={label} title={label} disabled={!onClick} {...button} />
  )
}

type View = 'html' | 'text' | 'headers' | 'raw'

function Views({ message, token, onShown }: HtmlViewProps) {
  const names: readonly View[] = message.body_html
    ? ['html', 'text', 'headers', 'raw']
    : ['text', 'headers', 'raw']
  const [chosen, choose] = useState<View>(names[0] ?? 'text')
  useEffect(() => {
    if (chosen === 'text') onShown()
  }, [chosen])
  return (
    <Tabs<View>
      label={t('reader_views')}
      tabs={names.map((name) => [name, t(`reader_view_${name}`)] as const)}
      chosen={chosen}
      onChoose={choose}
    >
      {chosen === 'html' && <HtmlView message={message} token={token} onShown={onShown} />}
      {chosen === 'text' && <TextView text={message.body_text} />}
      {chosen === 'headers' && <HeadersView message={message} token={token} />}
      {chosen === 'raw' && <RawView message={message} token={token} />}
    </Tabs>
  )
}
