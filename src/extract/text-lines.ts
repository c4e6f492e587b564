import type { Lines } from './html-lines.ts'

/** Plain text with its paragraphs on one line each, so that a sentence is not torn where it was wrapped. */
export function linesFromText(text: string): Lines {
  let joined = ''
  let last = ''
  for (const line of text.split('\n')) {
    joined += isWrapped(last, line) ? ` ${line.trimStart()}` : `\n${line}`
    last = line
  }
  return { text: joined.slice(1), anchors: [] }
}

/** Shorter lines were ended on purpose. */
const WRAPPED_AT = 55

function isWrapped(last: string, next: string): boolean {
  const full = last.length >= WRAPPED_AT && last.length <= 100 && !/[:：]\s*$/.test(last)
  return full && /\S\s+\S/.test(next)
}
