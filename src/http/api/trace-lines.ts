import { isIP } from 'node:net'
import type { Message, RawMail } from '../../core/message.ts'
import { printable } from '../../core/printable.ts'

/** The lines that a receiving server puts before a mail (RFC 5321 4.4). What the client said of itself cannot break out of them. */
export function traceLines(message: Message, raw: RawMail, hostname: string): string {
  const { recipient, receivedAt, id } = message
  if (raw.protocol === 'IMAP') return fetchedLines(message, hostname)
  const literal = isIP(raw.clientIp) === 6 ? `IPv6:${raw.clientIp}` : raw.clientIp
  const tls = raw.tls === undefined ? '' : ` (${word(raw.tls)})`
  return [
    `Return-Path: <${path(raw.mailFrom)}>`,
    `Delivered-To: ${recipient}`,
    `Received: from ${word(raw.helo) || 'unknown'} ([${word(literal)}])`,
    `\tby ${word(hostname)} with ${word(raw.protocol)}${tls}`,
    `\tid ${id.toString(36)} for <${recipient}>; ${mailDate(receivedAt)}`,
    '',
  ].join('\r\n')
}

/** Of mail that we did not take in ourselves: no client spoke to us, and the sender stands in the mail's own Return-Path. */
function fetchedLines({ recipient, receivedAt, id }: Message, hostname: string): string {
  return [
    `Delivered-To: ${recipient}`,
    `Received: by ${word(hostname)} with IMAP`,
    '\t(fetched from a mail account, which took it at this time)',
    `\tid ${id.toString(36)} for <${recipient}>; ${mailDate(receivedAt)}`,
    '',
  ].join('\r\n')
}

// RFC 5321 4.5.3.1: no name or path of its clients is longer.
const LONGEST = 256

/** An address may hold letters of any script (RFC 6531), and goes out as UTF-8. */
function path(text: string): string {
  return plain(text).toWellFormed()
}

function word(text: string): string {
  return plain(text).replace(/[^\x20-\x7e]/gu, '?')
}

/** Parentheses would open or close a comment. */
function plain(text: string): string {
  return printable(text.slice(0, LONGEST)).replace(/[()<>\\]/g, '')
}

/** RFC 5322 3.3, UTC. */
function mailDate(time: Date): string {
  return time.toUTCString().replace('GMT', '+0000')
}
