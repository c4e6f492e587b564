import { useEffect, useState } from 'preact/hooks'
import { currentMailbox, rulesByAddress } from '../address/mailboxes.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { canDelete, deleteSelectedOrAll, focusList, focusRow, moveCursor } from './actions.ts'
import { MAX_LISTED } from './message-list.ts'
import {
  actionLinks,
  allMessages,
  isAnyTruncated,
  isMailboxFull,
  isRead,
  isTruncated,
  messages,
} from './messages.ts'
import { openedKey } from './open-message.ts'
import { MessageRow } from './row.tsx'
import {
  allSelected,
  clearSearch,
  type Filter,
  filters,
  isAllShown,
  isSearching,
  searchQuery,
  selectAll,
  selected,
  toggleFilter,
  visibleRows,
} from './rows.ts'
import './list.css'
import './tools.css'
import { Icon } from '../site/icon.tsx'

/** With a rule about messages, deleting some does not help. */
function fullText(): string {
  const count = rulesByAddress.value.get(currentMailbox.value?.email ?? '')?.max_messages
  return typeof count === 'number' ? t('inbox_limit_reached', { count }) : t('inbox_full')
}

export function MessageRows() {
  return (
    <>
      <Toolbar />
      {isAllShown.value ? <NoticeOfAll /> : <Notices />}
      {/* A new query starts at the top. */}
      {visibleRows.value.length === 0 ? <NoRows /> : <Rows key={rowsKey()} />}
    </>
  )
}

function Notices() {
  return (
    <>
      {isMailboxFull.value && <p class="notice list-notice">{fullText()}</p>}
      {isTruncated.value && <TruncatedNotice count={messages.value.length} />}
    </>
  )
}

function NoticeOfAll() {
  const count = allMessages.value.length
  // A search covers all that are known.
  const isCut = isAnyTruncated.value || (count > MAX_LISTED && !isSearching.value)
  return isCut ? <TruncatedNotice count={Math.min(count, MAX_LISTED)} /> : null
}

function TruncatedNotice({ count }: { count: number }) {
  return <p class="soft list-notice">{t('inbox_truncated', { count })}</p>
}

function rowsKey(): string {
  return [isAllShown.value, ...filters.value, searchQuery.value].join(' ')
}

// Rows rendered at once, about a screen and a half; more follow when the browser is idle.
const STEP = 40

function Rows() {
  const rows = visibleRows.value
  const query = searchQuery.value.trim()
  const [drawn, draw] = useState(STEP)
  useEffect(() => {
    if (drawn >= rows.length) return undefined
    return whenIdle(() => draw(drawn + STEP))
  }, [drawn, rows.length])
  return (
    <ul
      class="mails"
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
        event.preventDefault()
        moveCursor(event.key === 'ArrowDown' ? 1 : -1)
      }}
    >
      {/* A component that reads signals, and a row reads texts, is rendered again only if its properties differ. */}
      {rows.slice(0, drawn).map(({ key, mailbox, message }) => (
        <MessageRow
          key={key}
          rowKey={key}
          mailbox={mailbox}
          message={message}
          address={isAllShown.value ? (mailbox.label ?? mailbox.email) : undefined}
          isUnread={!isRead(mailbox, message.id)}
          isSelected={selected.value.has(key)}
          isOpen={key === openedKey.value}
          link={
            mailbox.email === currentMailbox.value?.email
              ? actionLinks.value.get(message.id)
              : undefined
          }
          query={query}
        />
      ))}
    </ul>
  )
}

/** Safari has no requestIdleCallback. */
function whenIdle(operation: () => void): () => void {
  const { requestIdleCallback, cancelIdleCallback } = window as Partial<Window & typeof globalThis>
  if (!requestIdleCallback || !cancelIdleCallback) {
    const timer = setTimeout(operation, 50)
    return () => clearTimeout(timer)
  }
  const idle = requestIdleCallback(operation, { timeout: 500 })
  return () => cancelIdleCallback(idle)
}

function NoRows() {
  if (!isSearching.value) return <p class="list-none">{t('inbox_all_empty')}</p>
  return (
    <div class="list-none">
      <p>{t('inbox_no_matches')}</p>
      <Button class="plain" onClick={clearSearch}>
        {t('inbox_search_clear')}
      </Button>
    </div>
  )
}

function Toolbar() {
  const count = selected.value.size
  // Not closed with the focus: the rows would move under the pointer.
  const [isOpen, setOpen] = useState(false)
  return (
    <div class="tools">
      <label class="tools-all" title={t('inbox_select_all')}>
        <input
          type="checkbox"
          checked={allSelected.value}
          aria-label={count > 0 ? t('inbox_selected', { count }) : t('inbox_select_all')}
          // There is no attribute for it.
          ref={(box) => {
            if (box) box.indeterminate = count > 0 && !allSelected.value
          }}
          onChange={({ currentTarget }) => selectAll(currentTarget.checked)}
          disabled={visibleRows.value.length === 0}
        />
      </label>
      <SearchField onOpen={setOpen} />
      <Button
        icon="bin"
        class="danger icon"
        aria-label={deleteLabel()}
        title={deleteLabel()}
        onClick={deleteSelectedOrAll}
        disabled={!canDelete()}
      />
      {(isOpen || isSearching.value) && <Filters />}
    </div>
  )
}

const FILTERS = {
  unread: 'inbox_unread_label',
  code: 'inbox_filter_code',
  link: 'inbox_filter_link',
  files: 'inbox_filter_files',
} as const satisfies Record<Filter, string>

/** Links are known for one address only. */
function offeredFilters(): Filter[] {
  const all = Object.keys(FILTERS) as Filter[]
  return isAllShown.value ? all.filter((filter) => filter !== 'link') : all
}

function Filters() {
  return (
    <fieldset class="filters" aria-label={t('inbox_filters')}>
      {offeredFilters().map((filter) => (
        <Button
          key={filter}
          class="chip"
          aria-pressed={filters.value.has(filter)}
          onClick={() => toggleFilter(filter)}
        >
          {t(FILTERS[filter])}
        </Button>
      ))}
    </fieldset>
  )
}

function deleteLabel(): string {
  const count = visibleRows.value.length
  if (selected.value.size > 0 || !canDelete()) return t('site_delete')
  return isSearching.value ? t('inbox_delete_found', { count }) : t('inbox_delete_all')
}

/** Opened with the focus, closed with Escape. */
function SearchField({ onOpen }: { onOpen(isOpen: boolean): void }) {
  const isOn = isSearching.value
  return (
    <search class="search">
      <Icon name="search" />
      <input
        id="search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        aria-label={t('inbox_search')}
        placeholder={t('inbox_search')}
        value={searchQuery.value}
        onFocus={() => onOpen(true)}
        onInput={({ currentTarget }) => {
          searchQuery.value = currentTarget.value
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') {
            clearSearch()
            focusList()
            onOpen(false)
          }
          if (event.key === 'Enter') focusRow(visibleRows.value[0]?.key)
        }}
      />
      <span class={isOn ? 'soft search-count' : 'unseen'} role="status">
        {isOn ? t('inbox_matches', { count: visibleRows.value.length }) : ''}
      </span>
    </search>
  )
}
