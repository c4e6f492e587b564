import { type Found, wordFinder } from './languages.ts'

/** A word that says what the next number is. */
export type Label = Found<'code' | 'secret' | 'sale' | 'other' | 'number' | 'type'>

/**
 * The labels of a folded text, in order. "Promo code" and "código de reserva" are one label each, and none of ours;
 * so is "code number", and it is.
 */
export function findLabels(text: string): Label[] {
  const labels: Label[] = []
  for (const found of find(text)) {
    const next = isCompound(found, text) ? { ...found, kind: 'other' as const } : found
    const last = labels.at(-1)
    const joined = last && join(last, next, text)
    if (joined) labels[labels.length - 1] = joined
    else labels.push(next)
  }
  return labels
}

const find = wordFinder(['code', 'sale', 'other', 'number', 'secret', 'type'])
const LONGEST_LINK = 16
const BLANK = /^[ '’-]*$/
const OF = /^(?: (?:de|de la|de l|de los|del|du|des|d|do|da|dos|das|of|of the|la) ?)?[ '’-]*$/
const CONFIRMATION = /^ (?:confirmation |reference )?$/

function join(last: Label, next: Label, text: string): Label | undefined {
  if (next.start - last.end > LONGEST_LINK) return undefined
  const between = text.slice(last.end, next.start).toLowerCase()
  const { start } = last
  const { end } = next
  if (last.kind === 'code') {
    if (next.kind === 'code' && BLANK.test(between)) return { kind: 'code', start, end }
    if (next.kind === 'number' && BLANK.test(between)) return { kind: 'code', start, end }
    if (isOther(next) && OF.test(between)) return { kind: next.kind, start, end }
  }
  const another = next.kind === 'code' && isOther(last)
  if (another && (BLANK.test(between) || CONFIRMATION.test(between))) {
    return { kind: last.kind, start, end }
  }
  return undefined
}

/** Japanese and Chinese put what a code is of before it; those of ours are listed. */
function isCompound({ start, end }: Label, text: string): boolean {
  return COMPOUND.test(text.slice(start, end)) && COMPOUND_BEFORE.test(text[start - 1] ?? '')
}

const COMPOUND = /^(?:コード|代码|代碼)[：:]?$/
const COMPOUND_BEFORE = /[^\P{L}のはがを的下]/u

function isOther({ kind }: Label): boolean {
  return kind === 'other' || kind === 'sale'
}
