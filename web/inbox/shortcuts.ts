import { signal } from '@preact/signals'
import { copyAddress, newAddress } from '../address/actions.ts'
import { localStore } from '../site/storage.ts'
import { deleteCurrent, dismiss, moveCursor, openCurrent } from './actions.ts'
import { isList, isTyping } from './focus.ts'
import { searchQuery } from './messages.ts'
import { closeMessage, openedMessage } from './open-message.ts'
import { refresh } from './sync/sync.ts'

const STORAGE_KEY = 'keys'

/** Whether plain letters are commands. Who speaks to the machine, or whose hand slips, turns it off. */
export const shortcutsOn = signal(localStore.get(STORAGE_KEY) !== 'off')
export const isHelpOpen = signal(false)

export function setShortcuts(on: boolean): void {
  shortcutsOn.value = on
  localStore.set(STORAGE_KEY, on ? undefined : 'off')
}

/** What each key does; the help tells it in the same order. */
export const SHORTCUTS = {
  j: () => moveCursor(1),
  k: () => moveCursor(-1),
  Enter: openCurrent,
  u: () => void (openedMessage.value && closeMessage()),
  '#': deleteCurrent,
  r: () => void refresh(),
  n: () => void newAddress(),
  c: () => void copyAddress(),
  '/': focusSearch,
  '?': () => {
    isHelpOpen.value = true
  },
  Escape: () => {
    if (!dismiss()) searchQuery.value = ''
  },
} as const satisfies Record<string, () => void>

type Key = keyof typeof SHORTCUTS

/** Keys that are held down would do these again and again. */
const NO_REPEAT: readonly Key[] = ['#', 'r', 'n', 'c']

export function startShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    const key = shortcutOf(event)
    if (!key || !shortcutsOn.value || !isCommand(event, key)) return
    event.preventDefault()
    SHORTCUTS[key]()
  })
}

/** By the letter; on a keyboard without Latin letters by its place. */
function shortcutOf({ key, code }: KeyboardEvent): Key | undefined {
  const letter =
    /^Key[A-Z]$/.test(code) && !/^[\x20-\x7e]$/.test(key) ? code.slice(3).toLowerCase() : key
  return (Object.keys(SHORTCUTS) as Key[]).find((one) => one === letter)
}

function isCommand(event: KeyboardEvent, key: Key): boolean {
  if (event.defaultPrevented || event.isComposing || isModified(event)) return false
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return false
  // What has the focus does what Enter does to it; the list as a whole does nothing.
  if (key === 'Enter' && event.target !== document.body && !isList(event.target)) return false
  return !(event.repeat && NO_REPEAT.includes(key))
}

/** Some keyboards need Alt or AltGr to write a # or a /. */
function isModified(event: KeyboardEvent): boolean {
  const { key, ctrlKey, altKey, metaKey } = event
  if (metaKey) return true
  const isLetter = /^\w/.test(key)
  return isLetter ? ctrlKey || altKey : ctrlKey && !event.getModifierState('AltGraph')
}

function focusSearch(): void {
  document.getElementById('search')?.focus()
}
