import { Type } from 'typebox'
import type { HttpRequest } from '../../http/server/request.ts'
import { bodyBytes, type HttpResponse, jsonResponse } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { successSchema } from '../../http/server/schemas.ts'
import { attachmentResponse, rawMailResponse } from '../../mail/api/downloads.ts'
import { idField } from '../../mail/api/schemas.ts'
import { jsonParts } from '../../mail/read/long-strings.ts'
import { readAttachment, readMailJson, readRawMail } from '../../mail/read/read-mail.ts'
import type { Message } from '../../mail/rules/message.ts'
import type { KeyRouteDeps } from '../deps.ts'
import { parseTo } from '../emails/emails.ts'
import { readEmail } from '../emails/read-email.ts'
import { CHARGED, toField, wholeEmailJson, wholeEmailSchema } from './email-json.ts'
import { authenticatedKey, callerOf } from './quota-headers.ts'

const CHARGES =
  'Each 200 is charged as one request; nothing else is. A message that is not visible to the key, with the same to as in /emails, is 404 like one that does not exist; at most 60 of those a minute per key.'

const input = Type.Object({ id: { ...idField, description: 'An id from /emails.' }, to: toField })

const ofOneEmail = {
  ...CHARGED,
  method: 'GET',
  input,
  problems: [...CHARGED.problems, 'message_not_found'],
} as const

/** How a message is read on behalf of a request. */
interface Reading {
  client: string
  signal: AbortSignal
  reserve(bytes: number): void
}

async function charged(
  deps: KeyRouteDeps,
  request: HttpRequest,
  { id, to }: { id: number; to?: string },
  respond: (message: Message, reading: Reading) => Promise<HttpResponse>,
): Promise<HttpResponse<never>> {
  const key = authenticatedKey(request)
  const wanted = { id, to: to === undefined ? undefined : parseTo(to) }
  const caller = callerOf(deps, request)
  const response = await readEmail(deps, { key, caller, ...wanted }, async (message) => {
    // A client that has left gets the request back.
    request.throwIfClosed()
    const { client = `key ${key.id}`, reserveSendBudget: reserve } = request
    const made = await respond(message, { client, signal: request.signal(), reserve })
    reserve(bodyBytes(made.body))
    return made
  })
  return response as HttpResponse<never>
}

export const readEmailRoutes = [
  route({
    ...ofOneEmail,
    path: '/emails/{id}',
    name: 'read-email',
    title: 'Read a message with a key',
    description: `One message in full, with its HTML, codes, links and list of attachments. ${CHARGES}`,
    output: successSchema({ email: wholeEmailSchema }),
    problems: [...ofOneEmail.problems, 'shutting_down'],
    handle: (wanted, deps: KeyRouteDeps, request) =>
      charged(deps, request, wanted, async (message, reading) => {
        const { mail, long, checks } = await readMailJson(deps, message, reading)
        const email = wholeEmailJson(message, mail, checks)
        return jsonResponse(jsonParts({ status: 'success', email }, long))
      }),
  }),
  route({
    ...ofOneEmail,
    path: '/emails/{id}/raw',
    name: 'download-email',
    title: 'Download a message with a key',
    description: `The mail exactly as received, preceded by our Return-Path, Delivered-To and Received lines. ${CHARGES}`,
    output: 'message/rfc822',
    handle: (wanted, deps: KeyRouteDeps, request) =>
      charged(deps, request, wanted, async (message, reading) => {
        const raw = await readRawMail(deps, message, reading)
        return rawMailResponse({ message, raw }, deps.hostname)
      }),
  }),
  route({
    ...ofOneEmail,
    path: '/emails/{id}/attachments/{index}',
    name: 'download-email-attachment',
    title: 'Download an attachment with a key',
    description: `One attachment, by its index in the message. An index that the message does not have is 404 as well. ${CHARGES}`,
    input: Type.Object({
      ...input.properties,
      index: { ...idField, description: 'The index of the attachment.' },
    }),
    output: 'application/octet-stream',
    problems: [...ofOneEmail.problems, 'shutting_down'],
    handle: ({ index, ...wanted }, deps: KeyRouteDeps, request) =>
      charged(deps, request, wanted, async (message, reading) =>
        attachmentResponse(await readAttachment(deps, message, { ...reading, index })),
      ),
  }),
]
