import { useEffect, useRef } from 'preact/hooks'
import { currentMailbox } from '../address/mailboxes.ts'
import { Reader } from '../reader/reader.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { deleteOpened, focusReader, focusRow, isOnePane } from './actions.ts'
import { MessageRows } from './list.tsx'
import { connectionStatus, markRead } from './messages.ts'
import {
  closeMessage,
  listScrollTop,
  newerId,
  olderId,
  openedMessage,
  openMessage,
} from './open-message.ts'
import './empty.css'

/** List and message, side by side if there is room. */
export function Panes() {
  useFocusAndScroll()
  return (
    <div class="panes">
      <MessageRows />
      <section id="reader" class="reader-pane" aria-label={t('inbox_reader')} tabIndex={-1}>
        <ReaderPane />
      </section>
    </div>
  )
}

function ReaderPane() {
  const summary = openedMessage.value
  const token = currentMailbox.value?.token
  if (!summary || !token) {
    return (
      <p class="reader-none">
        <Icon name="letter" />
        {t('inbox_none_selected')}
      </p>
    )
  }
  return (
    <Reader
      token={token}
      summary={summary}
      onBack={closeMessage}
      onNewer={openHandler(newerId.value)}
      onOlder={openHandler(olderId.value)}
      onDelete={deleteOpened}
      onShown={() => markRead(summary.id)}
    />
  )
}

function openHandler(id: number | undefined): (() => void) | undefined {
  return id === undefined ? undefined : () => openMessage(id)
}

/** With one pane, focus and scroll position move with it and back. */
function useFocusAndScroll(): void {
  const id = openedMessage.value?.id
  const previous = useRef<number | undefined>(undefined)
  useEffect(() => {
    const last = previous.current
    if (last === id) return
    previous.current = id
    if (id === undefined) {
      if (isOnePane()) scrollTo({ top: listScrollTop.value, behavior: 'instant' })
      focusRow(last)
    } else if (isOnePane()) {
      scrollTo({ top: 0, behavior: 'instant' })
      focusReader()
    } else document.getElementById('reader')?.scrollTo({ top: 0, behavior: 'instant' })
  }, [id])
}

export function EmptyState() {
  const isEnded = connectionStatus.value.kind === 'ended'
  return (
    <div class={`empty${isEnded ? ' over' : ''}`}>
      <Illustration />
      <h3>{t(isEnded ? 'inbox_ended' : 'inbox_empty')}</h3>
      <p>{t(isEnded ? 'inbox_ended_hint' : 'inbox_empty_hint')}</p>
      {!isEnded && <p class="soft">{t('inbox_empty_codes')}</p>}
    </div>
  )
}

/** A mayfly above an open letter. It hovers, unless the user prefers reduced motion. */
function Illustration() {
  return (
    <svg class="drawing" viewBox="0 0 240 150" aria-hidden="true">
      <path class="drawing-path" d="M28 52c26-34 62-40 84-22" />
      <path class="drawing-letter" d="M70 84l50-34l50 34v48a6 6 0 0 1-6 6H76a6 6 0 0 1-6-6z" />
      <path class="drawing-sheet" d="M84 62h72v48l-36 20l-36-20z" />
      <path class="drawing-lines" d="M96 76h34M96 86h48M96 96h26" />
      <path class="drawing-front" d="M70 84l50 32l50-32v48a6 6 0 0 1-6 6H76a6 6 0 0 1-6-6z" />
      <g class="drawing-fly">
        <path class="drawing-wing" d="M140 34c-16-14-20-26-14-30c8-2 16 12 18 28z" />
        <path class="drawing-wing" d="M146 33c-4-20 2-31 9-31c8 2 4 18-5 31z" />
        <path d="M134 30c8 2 16 5 24 2c8-2 14-8 22-8" />
        <path d="M134 30c-10-3-20-1-28 4M134 30c-10 1-18 6-24 12" />
        <circle class="drawing-eye" cx="160" cy="31" r="2.6" />
      </g>
    </svg>
  )
}
