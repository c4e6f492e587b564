import { signal } from '@preact/signals'
import type { Catalogue } from '../../src/shared/translate.ts'
import { copyAddress, newAddress } from '../address/actions.ts'
import { localStore } from '../site/storage.ts'
import { deleteCurrent, dismiss, moveCursor, openCurrent, toggleSelected } from './actions.ts'
import { undo } from './deletions.ts'
import { closeMessage, openedMessage, toggleFullWindow } from './open-message.ts'
import { clearSearch } from './rows.ts'
import { refresh } from './sync/sync.ts'

const STORAGE_KEY = 'keys'

/** Users of speech input, for example, turn single-key shortcuts off. */
export const shortcutsOn = signal(localStore.get(STORAGE_KEY) !== 'off')
export const isHelpOpen = signal(false)

export function showHelp(on: boolean): void {
  isHelpOpen.value = on
}

export function setShortcuts(on: boolean): void {
  shortcutsOn.value = on
  localStore.set(STORAGE_KEY, on ? undefined : 'off')
}

/** In the order of the help dialog. */
export const SHORTCUTS = {
  j: { text: 'inbox_key_next', run: () => moveCursor(1) },
  k: { text: 'inbox_key_former', run: () => moveCursor(-1) },
  Enter: { text: 'inbox_key_open', run: openCurrent },
  u: { text: 'reader_back', run: () => openedMessage.value && closeMessage() },
  f: { text: 'reader_full_window', run: toggleFullWindow },
  x: { text: 'inbox_key_select', run: toggleSelected },
  '#': { text: 'inbox_key_delete', run: deleteCurrent },
  z: { text: 'inbox_key_undo', run: undo },
  r: { text: 'inbox_refresh', run: () => void refresh() },
  n: { text: 'address_new', run: () => void newAddress() },
  c: { text: 'inbox_key_copy', run: () => void copyAddress() },
  '/': { text: 'inbox_key_search', run: () => document.getElementById('search')?.focus() },
  '?': { text: 'inbox_key_help', run: () => showHelp(true) },
  Escape: { text: 'inbox_key_out', run: () => dismiss() || clearSearch() },
} as const satisfies Record<string, { text: keyof Catalogue; run(): unknown }>

type Key = keyof typeof SHORTCUTS

/** Not repeated while the key is held down. */
const NO_REPEAT: readonly Key[] = ['#', 'f', 'x', 'r', 'n', 'c']

export function startShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    const key = shortcutOf(event)
    if (!key || !shortcutsOn.value || !isCommand(event, key)) return
    event.preventDefault()
    SHORTCUTS[key].run()
  })
}

/** By the character; on a keyboard without Latin letters by position. */
function shortcutOf({ key, code }: KeyboardEvent): Key | undefined {
  const letter =
    /^Key[A-Z]$/.test(code) && !/^[\x20-\x7e]$/.test(key) ? code.slice(3).toLowerCase() : key
  const name = letter === 'Delete' ? '#' : letter
  return (Object.keys(SHORTCUTS) as Key[]).find((one) => one === name)
}

function isCommand(event: KeyboardEvent, key: Key): boolean {
  if (event.defaultPrevented || event.isComposing || isModified(event)) return false
  if (isTyping(event.target) || document.querySelector('dialog[open], :popover-open')) return false
  // Enter activates the focused element; the list as a whole has no such action.
  const isPageOrList = event.target instanceof Element && event.target.matches('body, #messages')
  if (key === 'Enter' && !isPageOrList) return false
  return !(event.repeat && NO_REPEAT.includes(key))
}

/** Some keyboards need Alt or AltGr to type # or /. */
function isModified(event: KeyboardEvent): boolean {
  const { key, ctrlKey, altKey, metaKey } = event
  if (metaKey) return true
  const isLetter = /^\w/.test(key)
  return isLetter ? ctrlKey || altKey : ctrlKey && !event.getModifierState('AltGraph')
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement)
    return !/^(checkbox|radio|button|submit)$/.test(target.type)
  return target.isContentEditable || target.matches('textarea, select')
}
