import { signal } from '@preact/signals'
import { copyAddress } from '../address/copy-address.ts'
import { newAddress } from '../address/deeds.ts'
import { kept } from '../site/kept.ts'
import { deleteHere, moveBy, openHere, stepOut } from './deeds.ts'
import { isList, isTyping } from './focus.ts'
import { query } from './mail.ts'
import { close, opened } from './opened.ts'
import { refresh } from './refresh.ts'

const SHELF = 'keys'

/** Whether plain letters are commands. Who speaks to the machine, or whose hand slips, turns it off. */
export const keysOn = signal(kept.find(SHELF) !== 'off')
export const showsHelp = signal(false)

export function chooseKeys(on: boolean): void {
  keysOn.value = on
  kept.keep(SHELF, on ? undefined : 'off')
}

/** What each key does; the help tells it in the same order. */
export const KEYS = {
  j: () => moveBy(1),
  k: () => moveBy(-1),
  Enter: openHere,
  u: () => void (opened.value && close()),
  '#': deleteHere,
  r: () => void refresh(),
  n: () => void newAddress(),
  c: () => void copyAddress(),
  '/': focusSearch,
  '?': () => {
    showsHelp.value = true
  },
  Escape: () => {
    if (!stepOut()) query.value = ''
  },
} as const satisfies Record<string, () => void>

type Key = keyof typeof KEYS

/** Keys that are held down would do these again and again. */
const ONCE: readonly Key[] = ['#', 'r', 'n', 'c']

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    const key = keyOf(event)
    if (!key || !keysOn.value || !isCommand(event, key)) return
    event.preventDefault()
    KEYS[key]()
  })
}

/** By the letter; on a keyboard without Latin letters by its place. */
function keyOf({ key, code }: KeyboardEvent): Key | undefined {
  const letter =
    /^Key[A-Z]$/.test(code) && !/^[\x20-\x7e]$/.test(key) ? code.slice(3).toLowerCase() : key
  return (Object.keys(KEYS) as Key[]).find((one) => one === letter)
}

function isCommand(event: KeyboardEvent, key: Key): boolean {
  if (event.defaultPrevented || event.isComposing || isModified(event)) return false
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return false
  // What has the focus does what Enter does to it; the list as a whole does nothing.
  if (key === 'Enter' && event.target !== document.body && !isList(event.target)) return false
  return !(event.repeat && ONCE.includes(key))
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
