import { useEffect, useId, useState } from 'preact/hooks'
import { isSuspicious } from '../../src/shared/sender-display.ts'
import type { Message, MessageSummary } from '../site/api-client.ts'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { Tabs } from '../site/tabs.tsx'
import { Attachments } from './attachments.tsx'
import { CodeCard, LinkCard } from './cards.tsx'
import { HtmlView, loadSanitiser } from './html-view.tsx'
import { MessageHeader } from './message-header.tsx'
import { SaveButton } from './save-button.tsx'
import { HeadersView, RawView, TextView } from './text-views.tsx'
import { type LoadState, useMessage } from './use-message.ts'
import './reader.css'
import './views.css'

interface ReaderProps {
  token: string
  summary: MessageSummary
  /** Back to the list, where that is another pane. */
  onBack(): void
  /** To the newer or older neighbour; undefined where there is none. */
  onNewer: (() => void) | undefined
  onOlder: (() => void) | undefined
  onDelete(): void
  /** The body is on the page: not while it is loaded, nor where that failed. */
  onShown(): void
}

/** One message, opened. */
export function Reader(props: ReaderProps) {
  const { token, summary, onShown } = props
  const reading = useMessage(token, summary)
  const message = reading.kind === 'here' ? reading.message : undefined
  const id = useId()
  useEffect(() => {
    // Asked for while the message is on its way; who shows it hears of a failure.
    loadSanitiser().catch(() => {})
  }, [])
  return (
    <article class="reader" aria-labelledby={id} aria-busy={reading.kind === 'loading'}>
      <ReaderToolbar {...props} />
      <MessageHeader
        key={`head ${summary.id}`}
        id={id}
        summary={summary}
        message={message}
        isChecking={reading.kind === 'here' && reading.isChecking}
        files={`${id}-files`}
      />
      <div class="cards">
        <CodeCard
          key={`code ${summary.id}`}
          codes={message ? codesOf(message) : codeOfSummary(summary)}
        />
        {message && !isDoubtful(message) && <LinkCard links={message.links} />}
      </div>
      {message ? (
        <>
          <Views key={`views ${message.id}`} message={message} token={token} onShown={onShown} />
          <Attachments
            key={`files ${message.id}`}
            attachments={message.attachments}
            token={token}
            place={`${id}-files`}
          />
        </>
      ) : (
        <LoadingOrError reading={reading} />
      )}
    </article>
  )
}

function isDoubtful({ sender_name: name, sender_email: address, auth }: Message): boolean {
  return isSuspicious(name, address, auth)
}

function codesOf({ codes }: Message): string[] {
  return codes.map(({ value }) => value)
}

/** The list knows the likeliest code before the message is here. */
function codeOfSummary({ code }: MessageSummary): string[] {
  return code ? [code] : []
}

function ReaderToolbar({
  token,
  summary: { id },
  onBack,
  onNewer,
  onOlder,
  onDelete,
}: ReaderProps) {
  return (
    <div class="reader-bar">
      <button type="button" class="quiet reader-back" onClick={onBack}>
        <Icon name="back" />
        <span>{t('reader_back')}</span>
      </button>
      <StepButton words={t('reader_newer')} glyph="up" onStep={onNewer} />
      <StepButton words={t('reader_older')} glyph="down" onStep={onOlder} />
      <span class="reader-gap" />
      <SaveButton
        key={id}
        path={`/api/raw-mail?id=${id}`}
        token={token}
        name={`message-${id}.eml`}
        words={t('reader_save')}
        class="quiet reader-save"
      />
      <button type="button" class="quiet reader-delete" onClick={onDelete}>
        <Icon name="bin" />
        <span>{t('reader_delete')}</span>
      </button>
    </div>
  )
}

interface StepProps {
  words: string
  glyph: 'up' | 'down'
  onStep: (() => void) | undefined
}

function StepButton({ words, glyph, onStep }: StepProps) {
  return (
    <button
      type="button"
      class="quiet icon"
      aria-label={words}
      title={words}
      disabled={!onStep}
      onClick={() => onStep?.()}
    >
      <Icon name={glyph} />
    </button>
  )
}

function LoadingOrError({ reading }: { reading: LoadState }) {
  if (reading.kind === 'gone') {
    return (
      <p class="notice" role="status">
        {t('reader_gone')}
      </p>
    )
  }
  if (reading.kind === 'fault') {
    return (
      <div class="reader-wait" role="alert">
        <p class="fault">{reading.words}</p>
        <button type="button" class="plain" onClick={reading.again}>
          {t('reader_again')}
        </button>
      </div>
    )
  }
  return (
    <p class="soft reader-wait" role="status">
      {t('reader_loading')}
    </p>
  )
}

type View = 'html' | 'text' | 'headers' | 'raw'

interface ViewsProps extends Pick<ReaderProps, 'token' | 'onShown'> {
  message: Message
}

function Views({ message, token, onShown }: ViewsProps) {
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
