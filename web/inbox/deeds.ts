import { chosen, tickAll } from './chosen.ts'
import { remove } from './deletions.ts'
import { focusList, focusRow, isOnePane } from './focus.ts'
import { shown } from './mail.ts'
import { close, newer, older, open, opened } from './opened.ts'

/** The row that had the focus last. */
let cursor: number | undefined

export function setCursor(id: number): void {
  cursor = id
}

/** Where the keyboard is: at the message in the reader, else at the row that had the focus last. */
function here(): number | undefined {
  return opened.value?.id ?? shown.value.find(({ id }) => id === cursor)?.id
}

/** To the next or former row; while a message is open, that one is opened. */
export function moveBy(step: 1 | -1): void {
  const rows = shown.value
  const from = rows.findIndex(({ id }) => id === here())
  const to = from < 0 ? rows[0] : rows[from + step]
  if (!to) return
  cursor = to.id
  if (opened.value) open(to.id)
  if (!opened.value || !isOnePane()) focusRow(to.id)
}

export function openHere(): void {
  const id = here() ?? shown.value[0]?.id
  if (id !== undefined) open(id)
}

/** The message in the reader; else those with a tick; else the row that the keyboard is at. */
export function deleteHere(): void {
  const id = here()
  if (opened.value) deleteOpened()
  else if (chosen.value.size > 0) deleteChosen()
  else if (id !== undefined) deleteRow(id)
}

/** The next older one takes its place; where there is one pane, the list does. */
export function deleteOpened(): void {
  const id = opened.value?.id
  const next = older.value ?? newer.value
  if (id === undefined) return
  if (next !== undefined && !isOnePane()) open(next)
  remove([id])
}

export function deleteRow(id: number): void {
  const place = shown.value.findIndex((row) => row.id === id)
  const next = shown.value[place + 1] ?? shown.value[place - 1]
  if (opened.value?.id === id) deleteOpened()
  else remove([id])
  // Once the row is gone the focus would be nowhere.
  cursor = next?.id
  if (!focusRow(next?.id)) focusList()
}

export function deleteChosen(): void {
  remove([...chosen.value])
  tickAll(false)
  focusList()
}

export function deleteAll(): void {
  remove(shown.value.map(({ id }) => id))
  tickAll(false)
  focusList()
}

/** One step out: from the message, from the ticks. False when there was none. */
export function stepOut(): boolean {
  if (opened.value) close()
  else if (chosen.value.size > 0) tickAll(false)
  else return false
  return true
}
