import { isIP } from 'node:net'
import type { Message, RawMail } from '../core/message.ts'
import { printable } from '../core/printable.ts'

/** The lines that a receiving server puts before a mail (RFC 5321 4.4). What the client said of itself cannot break out of them. */
export function traceLines(message: Message, raw: RawMail, hostname: string): string {
  const { recipient, receivedAt, id } = message
  const literal = isIP(raw.clientIp) === 6 ? `IPv6:${raw.clientIp}` : raw.clientIp
  const tls = raw.tls === undefined ? '' : ` (${word(raw.tls)})`
  return [
    `Return-Path: <${word(raw.mailFrom)}>`,
    `Delivered-To: ${recipient}`,
    `Received: from ${word(raw.helo) || 'unknown'} ([${word(literal)}])`,
    `\tby ${word(hostname)} with ${word(raw.protocol)}${tls}`,
    `\tid ${id.toString(36)} for <${recipient}>; ${mailDate(receivedAt)}`,
    '',
  ].join('\r\n')
}

// RFC 5321 4.5.3.1: no name or path of its clients is longer.
const LONGEST = 256

/** Parentheses would open or close a comment. */
function word(text: string): string {
  return printable(text.slice(0, LONGEST))
    .replace(/[()<>\\]/g, '')
    .replace(/[^\x20-\x7e]/gu, '?')
}

/** RFC 5322 3.3, UTC. */
function mailDate(time: Date): string {
  return time.toUTCString().replace('GMT', '+0000')
}
