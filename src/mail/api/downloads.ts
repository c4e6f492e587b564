import { isIP } from 'node:net'
import { Type } from 'typebox'
import { printable } from '../../base/text.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import {
  downloadHeaders,
  type HttpResponse,
  privateContentResponse,
} from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { isBlank, isEmptyLine, readHeader } from '../../mime/header-fields.ts'
import type { AttachmentInfo } from '../../shared/mail.ts'
import type { MailRouteDeps } from '../deps.ts'
import { findMessage, readAttachment, readRawMail } from '../read/read-mail.ts'
import type { Message, RawMail } from '../rules/message.ts'
import { idField, tokenField } from './schemas.ts'

// Safe to display. SVG is not: it can contain scripts.
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export const attachmentRoute = route({
  method: 'GET',
  path: '/api/attachment',
  name: 'download-attachment',
  title: 'Download an attachment',
  description: 'Downloads one attachment by its index in read-mail.',
  input: Type.Object({
    token: tokenField,
    id: idField,
    index: {
      ...idField,
      description: 'The index of the attachment in read-mail.',
    },
  }),
  output: 'application/octet-stream',
  problems: ['invalid_token', 'session_expired', 'message_not_found', 'not_found', 'shutting_down'],
  async handle({ token, id, index }, deps: MailRouteDeps, request) {
    const message = await findMessage(deps, token, id)
    return attachmentResponse(
      await readAttachment(deps, message, { index, ...downloadOf(request) }),
    )
  },
})

export const rawMailRoute = route({
  method: 'GET',
  path: '/api/raw-mail',
  name: 'download-mail',
  title: 'Download a message',
  description:
    'The mail exactly as received, preceded by our Return-Path, Delivered-To and Received lines.',
  input: Type.Object({ token: tokenField, id: idField }),
  output: 'message/rfc822',
  problems: ['invalid_token', 'session_expired', 'message_not_found'],
  async handle({ token, id }, deps: MailRouteDeps, request) {
    const message = await findMessage(deps, token, id)
    const raw = await readRawMail(deps, message, downloadOf(request))
    return rawMailResponse({ message, raw }, deps.hostname)
  },
})

function downloadOf({ client, signal, reserveSendBudget: reserve }: HttpRequest) {
  return { client, signal: signal(), reserve }
}

export function attachmentResponse({
  info: { contentType, filename },
  bytes,
}: {
  info: AttachmentInfo
  bytes: Uint8Array
}): HttpResponse {
  const type = IMAGE_TYPES.has(contentType) ? contentType : 'application/octet-stream'
  return privateContentResponse(type, bytes, downloadHeaders(filename))
}

/** All requests that share a read send the same bytes. */
export function rawMailResponse(
  { message, raw }: { message: Message; raw: RawMail },
  hostname: string,
): HttpResponse {
  const lines = Buffer.from(traceLines(message, raw, hostname))
  const headers = downloadHeaders(`message-${message.id}.eml`)
  return privateContentResponse('message/rfc822', [lines, raw.bytes], headers)
}

/** RFC 5321 4.4. Client input is sanitized, so that it cannot add lines. */
export function traceLines(message: Message, raw: RawMail, hostname: string): string {
  const { recipient, receivedAt, id } = message
  if (raw.protocol === 'IMAP') return fetchedTraceLines(message, hostname) + separator(raw.bytes)
  const literal = isIP(raw.clientIp) === 6 ? `IPv6:${raw.clientIp}` : raw.clientIp
  const tls = raw.tls === undefined ? '' : ` (${atom(raw.tls)})`
  return [
    // May be non-ASCII (RFC 6531), as UTF-8.
    `Return-Path: <${sanitize(raw.mailFrom).toWellFormed()}>`,
    `Delivered-To: ${recipient}`,
    `Received: from ${atom(raw.helo) || 'unknown'} ([${atom(literal)}])`,
    `\tby ${atom(hostname)} with ${atom(raw.protocol)}${tls}`,
    `\tid ${id.toString(36)} for <${recipient}>; ${rfc5322Date(receivedAt)}`,
    separator(raw.bytes),
  ].join('\r\n')
}

/** Between our lines and a mail that does not start with a field of its own. */
function separator(bytes: Uint8Array): string {
  if (bytes.length === 0 || isEmptyLine(bytes, 0)) return ''
  // All of it is body.
  if (readHeader(bytes).fields.next().done) return '\r\n'
  // A first line that starts with a blank would continue the last field above.
  return isBlank(bytes[0]) ? 'X-First-Line:\r\n' : ''
}

/** Fetched mail has no SMTP client, and its own Return-Path. */
function fetchedTraceLines({ recipient, receivedAt, id }: Message, hostname: string): string {
  return [
    `Delivered-To: ${recipient}`,
    `Received: by ${atom(hostname)} with IMAP`,
    '\t(fetched from a mail account, which took it at this time)',
    `\tid ${id.toString(36)} for <${recipient}>; ${rfc5322Date(receivedAt)}`,
    '',
  ].join('\r\n')
}

// RFC 5321 4.5.3.1.
const MAX_LENGTH = 256

function atom(text: string): string {
  return sanitize(text).replace(/[^\x20-\x7e]/gu, '?')
}

/** Parentheses would start or end a comment. */
function sanitize(text: string): string {
  return printable(text.slice(0, MAX_LENGTH)).replace(/[()<>\\]/g, '')
}

/** RFC 5322 3.3, UTC. */
function rfc5322Date(time: Date): string {
  return time.toUTCString().replace('GMT', '+0000')
}
