import type { Message, MessageSummary } from '../site/api.ts'
import { Button, type ButtonProps } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { Popover } from '../site/popover.tsx'
import { regularFiles } from './attachments.tsx'
import { isPhoneWidth } from './html-view.tsx'
import { canDarken, isDarkened, ownColours, toggleColours } from './mail-colours.ts'
import { printMessage } from './print.ts'
import { SaveButton } from './save-button.tsx'

export interface ReaderProps {
  token: string
  summary: MessageSummary
  isFullWindow: boolean
  onFullWindow(): void
  onBack(): void
  /** Undefined if there is no newer or older message. */
  onNewer: (() => void) | undefined
  onOlder: (() => void) | undefined
  onDelete(): void
  /** The body is displayed: not while loading, nor after a failure. */
  onShown(): void
}

export type View = 'html' | 'text' | 'files' | 'links' | 'headers' | 'code' | 'raw'

interface ReaderActionsProps extends ReaderProps {
  /** Undefined until it is loaded. */
  message: Message | undefined
  views: readonly (readonly [View, string])[]
  view: View
  onView(view: View): void
}

/** Buttons in a row; with one pane behind a button, and the views with them. */
export function ReaderActions(props: ReaderActionsProps) {
  const { token, summary, message, views, view, onView } = props
  const { isFullWindow, onFullWindow, onNewer, onOlder, onDelete } = props
  const files = regularFiles(message?.attachments ?? []).length
  return (
    <>
      {files > 0 && (
        <button
          type="button"
          class="quiet reader-files"
          aria-label={t('reader_attachments', { count: files })}
          onClick={() => onView('files')}
        >
          <Icon name="clip" />
          {files}
        </button>
      )}
      <Popover
        icon="more"
        label={t('site_more')}
        class="quiet icon reader-more"
        panelClass="reader-actions"
      >
        <div class="reader-choices">
          {views.map(([name, label]) => (
            <Button
              key={name}
              class="quiet"
              aria-pressed={name === view}
              onClick={() => onView(name)}
            >
              {label}
            </Button>
          ))}
        </div>
        <Action label={t('reader_newer')} icon="up" onClick={onNewer} />
        <Action label={t('reader_older')} icon="down" onClick={onOlder} />
        {view === 'html' && (
          <Action
            class="reader-wide"
            label={t('reader_phone_width')}
            icon="phone"
            aria-pressed={isPhoneWidth.value}
            onClick={() => {
              isPhoneWidth.value = !isPhoneWidth.value
            }}
          />
        )}
        {view === 'html' && canDarken() && (
          <Action
            label={t(isDarkened(ownColours.value) ? 'reader_original' : 'reader_dark')}
            icon={isDarkened(ownColours.value) ? 'sun' : 'moon'}
            onClick={toggleColours}
          />
        )}
        <Action
          class="reader-wide"
          label={t(isFullWindow ? 'reader_full_window_exit' : 'reader_full_window')}
          icon={isFullWindow ? 'narrow' : 'widen'}
          onClick={onFullWindow}
        />
        <Action
          label={t('reader_print')}
          icon="print"
          onClick={message && (() => printMessage(message))}
        />
        <SaveButton
          key={summary.id}
          path={`/api/raw-mail?id=${summary.id}`}
          token={token}
          name={fileName(summary.subject, summary.id)}
          caption={t('reader_save')}
          class="quiet reader-action"
        />
        <Action label={t('site_delete')} icon="bin" onClick={onDelete} />
      </Popover>
    </>
  )
}

/** Its name is visible only in the panel of one pane. */
function Action({ label, class: className = '', ...button }: { label: string } & ButtonProps) {
  return (
    <Button
      class={`quiet reader-action ${className}`}
      aria-label={label}
      title={label}
      disabled={!button.onClick}
      {...button}
    >
      <span>{label}</span>
    </Button>
  )
}

const MAX_NAME = 80

/** The subject without what file systems reject, or what would disguise the extension. */
function fileName(subject: string, id: number): string {
  const name = subject
    .replace(/[\\/:*?"<>|\p{Cc}\p{Cf}]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/^\.+/, '')
  return `${[...name].slice(0, MAX_NAME).join('').trim() || `message-${id}`}.eml`
}
