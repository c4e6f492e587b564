import { readFileSync } from 'node:fs'
import { LINK_KINDS, type LinkKind, type Mail } from '../../core/message.ts'
import { parseMail } from '../parse.ts'

/** A mail of `fixtures/codes`, read, and what a person says of it. */
export interface Labelled {
  name: string
  language: string
  mail: Mail
  /** Undefined: there is none to type. */
  code: string | undefined
  /** Of some of its links: what they are for, and how their address begins. */
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
  if (!kind) throw new Error(`${label}: no kind of link`)
  return { kind, start: `https://${start}` }
}
