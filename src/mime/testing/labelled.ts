import { readFileSync } from 'node:fs'
import { LINK_KINDS, type LinkKind, type Mail } from '../../core/message.ts'
import { parseMail } from '../parse.ts'

/** A parsed mail of `fixtures/codes` with its labels. */
export interface Labelled {
  name: string
  language: string
  mail: Mail
  /** Undefined if it contains none. */
  code: string | undefined
  /** Expected kinds of some links, by the start of the URL. */
  links: { kind: LinkKind; start: string }[]
}

export function readLabelled(): Labelled[] {
  const folder = new URL('../fixtures/codes/', import.meta.url)
  const rows = readFileSync(new URL('labels.tsv', folder), 'utf8').trimEnd().split('\n').slice(1)
  return rows.map((row) => {
    const [name = '', , code = '', links = ''] = row.split('\t')
    return {
      name,
      language: name.slice(0, 2),
      mail: parseMail(readFileSync(new URL(`${name}.eml`, folder))),
      code: code === 'none' ? undefined : code,
      links: links.split('  ').filter(Boolean).map(readLink),
    }
  })
}

function readLink(label: string): { kind: LinkKind; start: string } {
  const [word, start = ''] = label.split(' ')
  const kind = LINK_KINDS.find((one) => one === word)
  if (!kind) throw new Error(`${label}: unknown link kind`)
  return { kind, start: `https://${start}` }
}
