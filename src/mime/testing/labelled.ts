import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { LINK_KINDS, type LinkKind, type Mail } from '../../shared/mail.ts'
import { parseMail } from '../parse.ts'

/** A parsed mail of `fixtures/codes` with its labels. */
export interface Labelled {
  name: string
  language: string
  mail: Mail
  /** The code, in each spelling that is right; empty if there is none. */
  codes: string[]
  /** Expected kinds of some links, by the start of the URL. */
  links: { kind: LinkKind; start: string }[]
}

const FOLDER = new URL('../fixtures/codes/', import.meta.url)

/** The complete mails, labelled in `labels.tsv`. */
export function readLabelled(): Labelled[] {
  const rows = readFileSync(new URL('labels.tsv', FOLDER), 'utf8').trimEnd().split('\n').slice(1)
  return rows.map((row) => {
    const [name = '', , code = '', links = ''] = row.split('\t')
    return {
      name,
      language: name.slice(0, 2),
      mail: parseMail(readFileSync(new URL(`${name}.eml`, FOLDER))),
      codes: code === 'none' ? [] : [code],
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

/** The mails with which the search for codes is developed. */
export function readDevelopment(): Labelled[] {
  return filesOf('development/', '.txt').flatMap(readBlocks)
}

/** Mails of kinds that used to be misread, by kind; half of each kind is held out. */
export function readClasses(half: 'development' | 'held-out'): Map<string, Labelled[]> {
  return new Map(
    filesOf(`${half}/classes/`, '.txt').map((file) => [file.language, readBlocks(file)]),
  )
}

/** `### name | sender | subject | code`, then text or HTML. */
function readBlocks({ language, source }: File): Labelled[] {
  const blocks = source.split(/^### /m).slice(1)
  return blocks.map((block) => {
    const [head = '', ...lines] = block.split('\n')
    const [name = '', from = '', subject = '', code = ''] = head.split(' | ')
    const body = lines.join('\n')
    const content = body.startsWith('<') ? { html: body } : { text: body }
    const mail = parseMail(buildMail({ from, subject, ...content }))
    return { name, language, mail, codes: code === 'none' ? [] : [code], links: [] }
  })
}

interface HeldOut extends Content {
  name: string
  codes: string[]
  accept?: string[]
}

/** Mails that are not used to develop the search; only half of them was ever looked at. */
export function readHeldOut(): (Labelled & { isSeen: boolean })[] {
  return filesOf('held-out/', '.json').flatMap(({ language, source }) =>
    (JSON.parse(source) as HeldOut[]).map((one) => ({
      name: one.name,
      language,
      mail: parseMail(buildMail(one)),
      codes: [...one.codes, ...(one.accept ?? [])],
      links: [],
      isSeen: isSeen(`${language}/${one.name}`),
    })),
  )
}

function isSeen(name: string): boolean {
  return ((createHash('sha256').update(name).digest()[0] ?? 0) & 1) === 0
}

interface File {
  /** Or the kind of mail: the name of the file. */
  language: string
  source: string
}

function filesOf(folder: string, extension: string): File[] {
  const files = readdirSync(new URL(folder, FOLDER)).filter((file) => file.endsWith(extension))
  return files.sort().map((file) => ({
    language: file.slice(0, -extension.length),
    source: readFileSync(new URL(`${folder}${file}`, FOLDER), 'utf8'),
  }))
}

interface Content {
  from: string
  subject: string
  text?: string
  html?: string
}

function buildMail({ from, subject, text, html }: Content): Buffer {
  const [, name = '', address = from] = /^(.*?)\s*<(.*)>$/.exec(from) ?? []
  const parts = [
    ...(text === undefined ? [] : [part('text/plain', text)]),
    ...(html === undefined ? [] : [part('text/html', html)]),
  ]
  const body =
    parts.length === 1
      ? parts[0]
      : `Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n${parts.join('\r\n--b\r\n')}\r\n--b--`
  const head = `From: ${encodeWord(name)} <${address}>\r\nSubject: ${encodeWord(subject)}`
  return Buffer.from(`${head}\r\nMIME-Version: 1.0\r\n${body}\r\n`)
}

function part(type: string, body: string): string {
  const lines = base64(body).replace(/.{76}/g, '$&\r\n')
  return `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}`
}

function encodeWord(text: string): string {
  return `=?utf-8?B?${base64(text)}?=`
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
