import { deleteAllMessages, deleteMessages } from './deletions.ts'
import { isSearching, selectAll, selected, setSelected, visibleMessages } from './messages.ts'
import {
  closeMessage,
  isAllShown,
  isAlone,
  isFullWindow,
  isOnePane,
  newerId,
  olderId,
  openedMessage,
  openMessage,
} from './open-message.ts'

/** Id of the row that had the focus last. */
let cursor: number | undefined

export function setCursor(id: number): void {
  cursor = id
}

/** The open message, else the row that had the focus last. The list of all addresses has rows of its own. */
function currentId(): number | undefined {
  if (openedMessage.value) return openedMessage.value.id
  if (isAllShown.value) return undefined
  return visibleMessages.value.find(({ id }) => id === cursor)?.id
}

/** To the next or previous row; while a message is open, opens that one. */
export function moveCursor(step: 1 | -1): void {
  const rows = visibleMessages.value
  const from = rows.findIndex(({ id }) => id === currentId())
  const to = from < 0 ? rows[0] : rows[from + step]
  if (!to) return
  cursor = to.id
  const isInReader = document.getElementById('reader')?.contains(document.activeElement)
  if (isAlone.value || isInReader) openAndFocus(to.id)
  else {
    if (openedMessage.value) openMessage(to.id)
    focusRow(to.id)
  }
}

/** Toggles the selection of the current row. */
export function toggleSelected(): void {
  const id = currentId()
  if (id !== undefined) setSelected(id, !selected.value.has(id))
}

export function openCurrent(): void {
  const id = currentId() ?? visibleMessages.value[0]?.id
  if (id !== undefined) openAndFocus(id)
}

/** For the keyboard: the next Tab leads into the message, not through the rest of the list. */
export function openAndFocus(id: number): void {
  wantsFocus = openedMessage.value?.id !== id
  openMessage(id)
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
  const id = currentId()
  if (openedMessage.value) deleteOpened()
  else if (isAllShown.value) return
  else if (selected.value.size > 0) deleteSelectedOrAll()
  else if (id !== undefined) deleteRow(id)
}

/** Then shows the next older message; with one pane, the list. */
export function deleteOpened(): void {
  const id = openedMessage.value?.id
  const next = olderId.value ?? newerId.value
  if (id === undefined) return
  if (next !== undefined && !isOnePane()) openMessage(next)
  deleteMessages([id])
}

export function deleteRow(id: number): void {
  const index = visibleMessages.value.findIndex((row) => row.id === id)
  const next = visibleMessages.value[index + 1] ?? visibleMessages.value[index - 1]
  if (openedMessage.value?.id === id) deleteOpened()
  else deleteMessages([id])
  // The focus would be lost with the row.
  cursor = next?.id
  if (!focusRow(next?.id)) focusList()
}

/** Deletes the selected messages; if none is selected those found by a search, else all. */
export function deleteSelectedOrAll(): void {
  if (selected.value.size > 0) deleteMessages([...selected.value])
  else if (isSearching.value) deleteMessages(visibleMessages.value.map(({ id }) => id))
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

export function rowId(id: number): string {
  return `mail-${id}`
}

/** False if there is no such row. */
export function focusRow(id: number | undefined): boolean {
  const row = document.getElementById(rowId(id ?? 0))
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
