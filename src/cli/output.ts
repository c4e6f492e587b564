import { printable, printableLines } from '../core/text.ts'

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

export interface JsonOption {
  json?: boolean
}

export function printJson(value: unknown, print: Print): void {
  print(JSON.stringify(value, null, 2))
}

/** Aligned columns; a cell may have several lines. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const split = rows.map((row) => row.map((cell) => cell.split('\n')))
  const widths: number[] = []
  for (const row of split) {
    row.forEach((lines, column) => {
      widths[column] = Math.max(widths[column] ?? 0, ...lines.map(({ length }) => length))
    })
  }
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

/** Breaks a list after commas to fit the width. */
export function wrapList(text: string, width: number): string {
  const lines: string[] = []
  for (const part of text.split(/(?<=,)/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + part.length <= width) lines.push(lines.pop() + part)
    else lines.push(part)
  }
  return lines.join('\n')
}

/** `100,000` */
export function formatCount(number: number): string {
  return number.toLocaleString('en-US')
}

/** `1 key`, `2 keys` */
export function plural(number: number, noun: string): string {
  return `${formatCount(number)} ${noun}${number === 1 ? '' : 's'}`
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** `1.5 MB`: 1 KB is 1,024 bytes, as in the settings. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024
    unit += 1
  }
  return `${formatCount(Math.round(value * 10) / 10)} ${UNITS[unit]}`
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

interface PrintedMail {
  receivedAt: string
  senderName: string
  senderEmail: string
  id?: number
  recipient?: string
  subject: string
  text: string
}

const MAX_CHARACTERS = 20_000

/** Everything in a mail is untrusted: control characters are escaped. */
export function formatMail({ text, ...mail }: PrintedMail): string[] {
  const sender = mail.senderEmail || '<> (bounce)'
  const body = text.slice(0, MAX_CHARACTERS).replaceAll('\r\n', '\n').trimEnd()
  const left = text.length - MAX_CHARACTERS
  return [
    '',
    `── ${printable(mail.receivedAt)} ${'─'.repeat(40)}`,
    ...(mail.id === undefined ? [] : [`Id:      ${mail.id}`]),
    `From:    ${printable(mail.senderName ? `${mail.senderName} <${sender}>` : sender)}`,
    ...(mail.recipient ? [`To:      ${printable(mail.recipient)}`] : []),
    `Subject: ${printable(mail.subject)}`,
    '',
    ...printableLines(body).split('\n'),
    ...(left > 0 ? [`… and ${left} more characters`] : []),
  ]
}
