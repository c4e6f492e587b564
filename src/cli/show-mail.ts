import { printable, printableLines } from '../core/printable.ts'

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
