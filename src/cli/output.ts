import { printable, printableLines } from '../core/text.ts'

/** A line for the person at the terminal instead of a stack. */
export class Refused extends Error {
  /** 1: it could not be done. 2: the command line itself is wrong. */
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

export type Print = (line: string) => void

/** Columns as wide as they need; a cell that holds several lines makes its row as high. */
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

/** Breaks a list after its commas, so that no line is wider than it must be. */
export function wrapList(text: string, width: number): string {
  const lines: string[] = []
  for (const part of text.split(/(?<=,)/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + part.length <= width) lines.push(lines.pop() + part)
    else lines.push(part)
  }
  return lines.join('\n')
}

interface ShownMail {
  receivedAt: string
  senderName: string
  senderEmail: string
  /** Only where it can be used. */
  id?: number
  /** Only where it is not clear anyway. */
  recipient?: string
  subject: string
  text: string
}

const MAX_CHARACTERS = 20_000

/** A mail as it stands in a terminal. All of it is a stranger's text. */
export function mailLines({ text, ...mail }: ShownMail): string[] {
  const sender = mail.senderEmail || 'nobody (a bounce)'
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
