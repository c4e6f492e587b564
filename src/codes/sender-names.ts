import { fold } from './fold.ts'

/** The folded name of a sender, its words, and the parts of the host. */
export function senderNames(name: string, address: string): Set<string> {
  const whole = fold(name.slice(0, MAX_NAME)).toLowerCase()
  const host = address.slice(-MAX_NAME).split('@').at(-1) ?? ''
  const words = [...whole.split(/[^0-9a-z]+/), ...host.toLowerCase().split('.')]
  return new Set([whole, ...words].filter(Boolean))
}

const MAX_NAME = 200

/** In `G-482913` from Gazelle the prefix names the sender, and the form already shows it: only the digits are typed. */
export function withoutPrefix(word: string, names: Set<string>, around: string): string {
  const [, letters = '', digits = ''] = PREFIXED.exec(word) ?? []
  if (!digits) return word
  const all = [...names, ...(around.match(NAME) ?? [])]
  const isName = all.some((name) => abbreviates(letters.toLowerCase(), name.toLowerCase()))
  return isName ? digits : word
}

const PREFIXED = /^([A-Za-z]{1,20})[-_]([0-9]{4,8})$/
/** A word that starts with a capital within a sentence. */
const NAME = /(?<=[a-z] )[A-Z][A-Za-z]+/g

/** Whether up to three letters occur in the name in this order, starting with its first letter, or it starts with more. */
function abbreviates(letters: string, name: string): boolean {
  if (letters.length > 3) return name.replace(/[^a-z0-9]/g, '').startsWith(letters)
  let at = -1
  for (const letter of letters) {
    at = name.indexOf(letter, at + 1)
    if (at < 0) return false
  }
  return name[0] === letters[0]
}
