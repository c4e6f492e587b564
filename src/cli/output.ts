import { styleText } from 'node:util'
import { InvalidArgumentError } from 'commander'
import { type DomainName, parseMailDomain } from '../base/address.ts'
import { printable, printableLines } from '../base/text.ts'
import { utcTimestamp } from '../base/time.ts'
import { formatSize } from '../shared/format-size.ts'

/** Printed as one line, without a stack trace. */
export class CommandError extends Error {
  /** 1: the command failed. 2: the command line is invalid. */
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

export type Print = (line: string) => void

/** For commands that wait. */
export const HOW_TO_EXIT = 'Press Ctrl+C to exit.'

export interface JsonOption {
  json?: boolean
}

/** JSON escapes only some of the characters that a terminal acts on. */
export function printJson(value: unknown, print: Print, indent = 2): void {
  print(printableLines(JSON.stringify(value, null, indent)))
}

/** Columns of a terminal. */
const MAX_WIDTH = 100
const MIN_WRAPPED = 16

/**
 * Aligned columns; a cell may have several lines. The last column is wrapped where it would exceed 100 columns. Control characters
 * are escaped, whoever wrote the cell.
 */
export function table(rows: readonly (readonly string[])[]): string[] {
  const last = Math.max(...rows.map(({ length }) => length)) - 1
  const cells = rows.map((row) => row.map((cell) => printableLines(cell).split('\n')))
  const before = columnWidths(cells)
    .slice(0, last)
    .reduce((sum, width) => sum + width + 2, 0)
  const width = Math.max(MAX_WIDTH - before, MIN_WRAPPED)
  const split = cells.map((row) =>
    row.map((lines, column) =>
      column === last ? lines.flatMap((line) => wrapWords(line, width)) : lines,
    ),
  )
  const widths = columnWidths(split)
  return split.flatMap((row) => {
    const height = Math.max(...row.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) =>
      row
        .map((lines, column) => (lines[line] ?? '').padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  })
}

/**
 * A heading and its rows in 100 columns: what is too long for the widest columns is cut off. In the last one texts are wrapped at
 * spaces, and only longer words are cut off. The first column is never cut off: other commands take what it shows.
 */
export function listTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const all = [heading, ...rows].map((row) => row.map(printable))
  const last = heading.length - 1
  const words = (cell: string) => cell.split(' ')
  const widths = columnWidths(
    all.map((row) => row.map((cell, column) => (column === last ? words(cell) : [cell]))),
  )
  let excess = widths.reduce((sum, width) => sum + width + 2, -2) - MAX_WIDTH
  for (; excess > 0; excess -= 1) {
    const widest = widths.lastIndexOf(Math.max(...widths.slice(1)))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  const lastWidth = MAX_WIDTH - widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0)
  const wrapped = (cell: string) => {
    const text = words(cell).map((word) => cutOff(word, lastWidth))
    return wrapWords(text.join(' '), lastWidth).join('\n')
  }
  return table(
    all.map((row) =>
      row.map((cell, column) =>
        column === last ? wrapped(cell) : cutOff(cell, widths[column] ?? 0),
      ),
    ),
  )
}

function cutOff(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}

function columnWidths(rows: readonly (readonly string[][])[]): number[] {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((lines, column) => {
      widths[column] = Math.max(widths[column] ?? 0, ...lines.map(({ length }) => length))
    })
  }
  return widths
}

/** Breaks a text at spaces; a longer word stays whole, so that it can be copied. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines.push(`${lines.pop()} ${word}`)
    else lines.push(word)
  }
  return lines
}

/** Breaks a list after commas, and what is longer anywhere, to fit the width. */
export function wrapList(text: string, width: number): string {
  const lines: string[] = []
  const parts = text
    .split(/(?<=,)/)
    .flatMap((part) => part.match(new RegExp(`.{1,${width}}`, 'gs')) ?? [])
  for (const part of parts) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + part.length <= width) lines.push(lines.pop() + part)
    else lines.push(part)
  }
  return lines.join('\n')
}

/** `2026-03-01 12:00:00 UTC` */
export function formatTime(time: Date): string {
  return `${utcTimestamp(time)} UTC`
}

/** `2026-03-01 12:00`, for a column whose heading names UTC. */
export function formatMinute(time: Date): string {
  return utcTimestamp(time).slice(0, 16)
}

/** `100,000` */
export function formatCount(number: number): string {
  return number.toLocaleString('en-US')
}

/** `1 key`, `2 keys` */
export function plural(number: number, noun: string): string {
  return `${formatCount(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** `1.5 MB`, in the units of the page. */
export function formatBytes(bytes: number): string {
  return formatSize(bytes, 'en-US')
}

/** `2 messages (1.5 MB)` */
export function formatVolume({ messages, bytes }: { messages: number; bytes: number }): string {
  return `${plural(messages, 'message')} (${formatBytes(bytes)})`
}

/** Empty only at 0, full only at the total. */
export function bar(used: number, total: number, width = 30): string {
  const share = total > 0 ? Math.min(1, used / total) : 1
  const least = used > 0 ? 1 : 0
  const full = share === 1 ? width : Math.min(width - 1, Math.max(least, Math.round(share * width)))
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/** Colours for a terminal; elsewhere the text stays as it is. */
export type Paint = (style: 'bold' | 'dim' | 'green' | 'cyan', text: string) => string

export const noPaint: Paint = (_style, text) => text

/** Colours only on a terminal, and not if NO_COLOR is set. */
export const terminalPaint: Paint = (style, text) => styleText(style, text)

interface PrintedMail {
  /** In UTC. */
  receivedAt: string
  senderName: string
  senderEmail: string
  id?: number
  recipient?: string
  subject: string
  text: string
  codes: readonly { value: string }[]
  links: readonly { kind: string; url: string }[]
  attachments: readonly { filename: string; size: number; inline: boolean }[]
}

/** The links that a mail asks to follow. */
const LINK_NAMES: Readonly<Record<string, string>> = {
  verify: 'Confirm:',
  sign_in: 'Sign in:',
  reset: 'Reset:  ',
}

const MAX_CHARACTERS = 20_000

/** Everything in a mail is untrusted: control characters are escaped. */
export function formatMail({ text, ...mail }: PrintedMail, paint: Paint): string[] {
  const sender = mail.senderEmail || '<> (bounce)'
  const body = text.slice(0, MAX_CHARACTERS).replaceAll('\r\n', '\n').trimEnd()
  const left = text.length - MAX_CHARACTERS
  return [
    '',
    paint('dim', `── ${printable(mail.receivedAt)} UTC ${'─'.repeat(40)}`),
    ...(mail.id === undefined ? [] : [`Id:      ${mail.id}`]),
    `From:    ${printable(mail.senderName ? `${mail.senderName} <${sender}>` : sender)}`,
    ...(mail.recipient ? [`To:      ${printable(mail.recipient)}`] : []),
    `Subject: ${paint('bold', printable(mail.subject))}`,
    ...mail.codes.slice(0, 1).map(({ value }) => `Code:    ${paint('green', printable(value))}`),
    ...mail.links
      .filter(({ kind }) => Object.hasOwn(LINK_NAMES, kind))
      .map(({ kind, url }) => `${LINK_NAMES[kind] ?? ''} ${paint('cyan', printable(url))}`),
    ...mail.attachments
      .filter(({ inline }) => !inline)
      .map(({ filename, size }) => `File:    ${printable(filename)} (${formatBytes(size)})`),
    '',
    ...printableLines(body).split('\n'),
    ...(left > 0 ? [`… and ${left} more characters`] : []),
  ]
}

export function parseDomain(text: string): DomainName {
  const name = parseMailDomain(text)
  if (name) return name
  throw new CommandError(`${JSON.stringify(text)} is not a domain name.`, 2)
}

/** An option that is a number. */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a whole number, 1 or more.')
}
