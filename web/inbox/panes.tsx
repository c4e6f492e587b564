import { computed, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { canRestore, isCurrentExpired } from '../address/countdown.ts'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import { isReachable } from '../site/api-client.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { deleteOpened, focusReader, focusRow, openAndFocus, takesFocus } from './actions.ts'
import { FirstMail } from './first-mail.tsx'
import { MessageRows } from './list.tsx'
import { actionLinks, connectionStatus, markRead, unreadCount, unreadTotal } from './messages.ts'
import { isNewestNew, markCopied, newestAction } from './newest.ts'
import {
  closeMessage,
  isFullWindow,
  isOnePane,
  listScrollTop,
  newer,
  older,
  openedKey,
  openedMessage,
  openMessageOf,
  toggleFullWindow,
} from './open-message.ts'
import { isAllShown, type Row, selected, showAll } from './rows.ts'
import { RefreshButton, StatusLine } from './status.tsx'
import './empty.css'

// The server says so some seconds after the countdown.
const isEnded = computed(() => connectionStatus.value.kind === 'ended' || isCurrentExpired.value)

/** List and message, side by side if there is room. */
export function Panes() {
  useFocusAndScroll()
  // While the user looks at the list; again once the server responds. Without a connection, the browser may still have it.
  useEffect(() => {
    void loadReader()
  }, [isReachable.value])
  return (
    <div class="panes">
      <div class="list">
        <ListHeader />
        {isOnePane() && isNewestNew.value && <Newest />}
        <MessageRows />
      </div>
      <section id="reader" class="reader-pane" aria-label={t('inbox_reader')} tabIndex={-1}>
        <ReaderPane />
      </section>
    </div>
  )
}

function ListHeader() {
  const hasEnded = isEnded.value
  return (
    <header class="messages-top row">
      <h2 id="messages-title">{t('inbox_title')}</h2>
      <Count />
      {mailboxes.value.length > 1 && (
        <Button
          class="chip"
          aria-pressed={isAllShown.value}
          onClick={() => showAll(!isAllShown.value)}
        >
          {t('inbox_all')}
        </Button>
      )}
      {!hasEnded && <RefreshButton />}
      {!hasEnded && <StatusLine />}
    </header>
  )
}

function Count() {
  const count = selected.value.size
  if (count > 0) return <span class="badge">{t('inbox_selected', { count })}</span>
  const unread = isAllShown.value ? unreadTotal.value : unreadCount.value
  return unread > 0 ? <span class="badge good">{t('inbox_unread', { count: unread })}</span> : null
}

/** Not part of the first load: a new visitor has no mail yet. */
const readerModule = signal<ReaderModule | 'failed' | undefined>(undefined)

type ReaderModule = typeof import('../reader/reader.tsx') & typeof import('./newest-card.tsx')

let isLoading = false

async function loadReader(): Promise<void> {
  if (isLoading || typeof readerModule.peek() === 'object') return
  isLoading = true
  try {
    const [reader, newestCard, { startLinks }] = await Promise.all([
      import('../reader/reader.tsx'),
      import('./newest-card.tsx'),
      import('./links.ts'),
    ])
    readerModule.value = { ...reader, ...newestCard }
    startLinks()
  } catch {
    // Offline, or a newer build has replaced the files.
    readerModule.value = 'failed'
  } finally {
    isLoading = false
  }
}

function ReaderPane() {
  const summary = openedMessage.value
  const token = currentMailbox.value?.token
  if (!summary || !token) {
    return (
      <div class="reader-none">
        {newestAction.value && typeof readerModule.value === 'object' ? (
          <Newest />
        ) : (
          <Icon name="letter" />
        )}
        <p>{t('inbox_none_selected')}</p>
      </div>
    )
  }
  if (readerModule.value === undefined) return <p class="reader-none">{t('site_loading')}</p>
  if (readerModule.value === 'failed') {
    return (
      <div class="reader-none" role="alert">
        <p>{t('site_unreachable')}</p>
        <Button class="plain" onClick={() => void loadReader()}>
          {t('site_try_again')}
        </Button>
      </div>
    )
  }
  const { Reader } = readerModule.value
  return (
    <Reader
      token={token}
      summary={summary}
      isFullWindow={isFullWindow.value}
      onFullWindow={toggleFullWindow}
      onBack={closeMessage}
      onNewer={openHandler(newer.value)}
      onOlder={openHandler(older.value)}
      onDelete={deleteOpened}
      onShown={() => markRead(summary.id)}
    />
  )
}

/** The newest code or link, large. With one pane only until it is read. */
function Newest() {
  const message = newestAction.value
  const mailbox = currentMailbox.value
  if (!message || !mailbox || typeof readerModule.value !== 'object') return null
  const { NewestCard } = readerModule.value
  return (
    <NewestCard
      key={message.id}
      message={message}
      link={actionLinks.value.get(message.id)}
      onCopy={() => markCopied(message.id)}
      onOpen={() => openAndFocus(mailbox, message.id)}
    />
  )
}

function openHandler(row: Row | undefined): (() => void) | undefined {
  return row && (() => openMessageOf(row.mailbox, row.message.id))
}

/** With one pane, focus and scroll position move with it and back. */
function useFocusAndScroll(): void {
  const key = openedKey.value
  const previous = useRef<string | undefined>(undefined)
  useEffect(() => {
    const last = previous.current
    if (last === key) return
    previous.current = key
    if (key === undefined) {
      if (isOnePane()) scrollTo({ top: listScrollTop.value, behavior: 'instant' })
      focusRow(last)
    } else if (isOnePane()) {
      scrollTo({ top: 0, behavior: 'instant' })
      focusReader()
    } else if (takesFocus()) focusReader()
  }, [key])
}

export function EmptyState() {
  const end = canRestore.value ? 'ended' : 'gone'
  const isLive = connectionStatus.value.kind === 'live'
  // Before there is mail to read: it may arrive just before the connection is lost.
  useEffect(() => {
    if (isLive) void loadReader()
  }, [isLive])
  return (
    <>
      <ListHeader />
      <div class={`empty${isEnded.value ? ' over' : ''}`}>
        {/* In the header if there is room. */}
        {!isEnded.value && <p class="empty-tagline">{t('site_tagline')}</p>}
        <Illustration />
        <h3>{t(isEnded.value ? `inbox_${end}` : 'inbox_empty')}</h3>
        {isEnded.value ? (
          <p>{t(`inbox_${end}_hint`)}</p>
        ) : (
          <FirstMail mailbox={currentMailbox.value} />
        )}
      </div>
    </>
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
