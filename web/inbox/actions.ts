import type { Mailbox } from '../address/mailbox.ts'
import { currentMailbox } from '../address/mailboxes.ts'
import { deleteAllMessages, deleteMessages } from './deletions.ts'
import {
  closeMessage,
  isAlone,
  isFullWindow,
  isOnePane,
  newer,
  older,
  openedKey,
  openedMessage,
  openMessageOf,
} from './open-message.ts'
import {
  isAllShown,
  isSearching,
  type Row,
  rowKey,
  selectAll,
  selected,
  setSelected,
  visibleRows,
} from './rows.ts'

/** Key of the row that had the focus last. */
let cursor: string | undefined

export function setCursor(key: string): void {
  cursor = key
}

/** Of the open message, else the one that had the focus last. */
function currentRow(): Row | undefined {
  return visibleRows.value.find(({ key }) => key === (openedKey.value ?? cursor))
}

/** To the next or previous row; while a message is open, opens that one. */
export function moveCursor(step: 1 | -1): void {
  const rows = visibleRows.value
  const current = currentRow()
  const to = current ? rows[rows.indexOf(current) + step] : rows[0]
  if (!to) return
  cursor = to.key
  const isInReader = document.getElementById('reader')?.contains(document.activeElement)
  if (isAlone.value || isInReader) openAndFocus(to.mailbox, to.message.id)
  else {
    if (openedMessage.value) openMessageOf(to.mailbox, to.message.id)
    focusRow(to.key)
  }
}

/** Toggles the selection of the current row. */
export function toggleSelected(): void {
  const row = currentRow()
  if (row) setSelected(row.key, !selected.value.has(row.key))
}

export function openCurrent(): void {
  const row = currentRow() ?? visibleRows.value[0]
  if (row) openAndFocus(row.mailbox, row.message.id)
}

/** For the keyboard: the next Tab leads into the message, not through the rest of the list. */
export function openAndFocus(mailbox: Mailbox, id: number): void {
  wantsFocus = openedKey.value !== rowKey(mailbox, id)
  openMessageOf(mailbox, id)
  if (!wantsFocus) focusReader()
}

let wantsFocus = false

/** True once after `openAndFocus`, for the component that renders the message. */
export function takesFocus(): boolean {
  const wanted = wantsFocus
  wantsFocus = false
  return wanted
}

/** Deletes the open message, else the selected ones, else the current row. */
export function deleteCurrent(): void {
  const row = currentRow()
  if (openedMessage.value) deleteOpened()
  else if (selected.value.size > 0) deleteSelectedOrAll()
  else if (row) deleteRow(row.key)
}

/** Then shows the next older message; with one pane, the list. */
export function deleteOpened(): void {
  const [mailbox, message] = [currentMailbox.value, openedMessage.value]
  const next = older.value ?? newer.value
  if (!mailbox || !message) return
  if (next && !isOnePane()) openMessageOf(next.mailbox, next.message.id)
  deleteMessages([{ mailbox, message }])
}

export function deleteRow(key: string): void {
  const index = visibleRows.value.findIndex((row) => row.key === key)
  const row = visibleRows.value[index]
  const next = visibleRows.value[index + 1] ?? visibleRows.value[index - 1]
  if (!row) return
  if (openedKey.value === key) deleteOpened()
  else deleteMessages([row])
  // The focus would be lost with the row.
  cursor = next?.key
  if (!focusRow(next?.key)) focusList()
}

/** False where it would be everything of all addresses. */
export function canDelete(): boolean {
  const isChosen = selected.value.size > 0 || isSearching.value || !isAllShown.value
  return isChosen && visibleRows.value.length > 0
}

/** Deletes the selected messages; if none is selected those found by a search, else all of the address. */
export function deleteSelectedOrAll(): void {
  if (!canDelete()) return
  if (selected.value.size > 0)
    deleteMessages(visibleRows.value.filter(({ key }) => selected.value.has(key)))
  else if (isSearching.value) deleteMessages(visibleRows.value)
  else deleteAllMessages()
  selectAll(false)
  focusList()
}

/** Leaves the full window, closes the message or clears the selection. False if there was none of them. */
export function dismiss(): boolean {
  if (isFullWindow.value) isFullWindow.value = false
  else if (openedMessage.value) closeMessage()
  else if (selected.value.size > 0) selectAll(false)
  else return false
  return true
}

export function rowId(key: string): string {
  return `mail-${key}`
}

/** False if there is no such row. */
export function focusRow(key: string | undefined): boolean {
  const row = document.getElementById(rowId(key ?? ''))
  row?.focus({ preventScroll: true })
  row?.scrollIntoView({ block: 'nearest' })
  return row !== null
}

export function focusList(): void {
  document.getElementById('messages')?.focus({ preventScroll: true })
}

/** Focuses the heading, where a screen reader starts to read. */
export function focusReader(): void {
  const pane = document.getElementById('reader')
  const heading = pane?.querySelector<HTMLElement>('h1, h2') ?? pane
  if (heading && heading.tabIndex < 0) heading.tabIndex = -1
  heading?.focus({ preventScroll: true })
}
