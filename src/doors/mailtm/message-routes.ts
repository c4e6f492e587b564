import { randomUUID } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { Type } from 'typebox'
import { runSteps } from '../../base/run-steps.ts'
import { takeRate } from '../../http/server/rates.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { empty, jsonResponse } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { forClient } from '../../mail/api/check-mail-filter.ts'
import { attachmentResponse, rawMailResponse, traceLines } from '../../mail/api/downloads.ts'
import { tokenField } from '../../mail/api/schemas.ts'
import { listMail } from '../../mail/list/check-mail.ts'
import { jsonParts } from '../../mail/read/long-strings.ts'
import {
  deleteMail,
  findMessage,
  readAttachment,
  readMailJson,
  readRawMail,
} from '../../mail/read/read-mail.ts'
import type { Message } from '../../mail/rules/message.ts'
import type { Session } from '../../mail/rules/session.ts'
import { liveSession } from '../../mail/sessions/session.ts'
import type { MessagePage } from '../../mail/store.ts'
import type { DoorRouteDeps } from '../deps.ts'
import { pageField, withToken } from './account-routes.ts'
import { withAccountTokens } from './accounts.ts'
import {
  BASE,
  collectionResponse,
  hexId,
  mediaType,
  PAGE_SIZE,
  parseHexId,
  resourceResponse,
  resourceValue,
} from './formats.ts'
import { attachmentIndex, listedMessage, wholeMessage } from './messages.ts'

const ofMessage = { token: tokenField, id: Type.String() }

export const mailTmMessageRoutes = [
  route({
    ...withToken,
    method: 'GET',
    path: `${BASE}/messages`,
    input: Type.Object({ token: tokenField, page: pageField }),
    async handle({ token, page = 1 }, deps: DoorRouteDeps, request) {
      const own = withAccountTokens(deps)
      const session = await liveSession(own, token)
      if (request.client !== undefined) await takeRate(deps, 'checkMail', String(session.id))
      const wanted = await messagePage(deps, session, page)
      const found = { token, session, throwIfClosed: request.throwIfClosed }
      const scanned = forClient(own, request.client)
      const { messages } = wanted ? await listMail(scanned, found, wanted) : { messages: [] }
      const ids = messages.map(({ id }) => id)
      const seen = new Set(await deps.store.listSeen(session.id, ids))
      const members = messages.map((message) => ({
        path: `/messages/${hexId(message.id)}`,
        value: listedMessage(message, session, seen.has(message.id)),
      }))
      const collection = { type: 'Message', path: '/messages', members } as const
      return collectionResponse(request, { ...collection, total: session.count, page })
    },
  }),
  route({
    ...withToken,
    method: 'GET',
    path: `${BASE}/messages/{id}`,
    input: Type.Object(ofMessage),
    async handle({ token, id }, deps: DoorRouteDeps, request) {
      const { session, message } = await findOwn(deps, token, id)
      const { mail, long } = await readMailJson(deps, message, readingOf(request))
      const seen = (await deps.store.listSeen(session.id, [message.id])).length > 0
      const value = wholeMessage(message, { session, seen, mail })
      const resource = { type: 'Message', path: `/messages/${id}`, value } as const
      const headers = { 'content-type': mediaType(request.headers.accept) }
      return jsonResponse(jsonParts(resourceValue(request, resource), long), headers)
    },
  }),
  route({
    ...withToken,
    method: 'PATCH',
    path: `${BASE}/messages/{id}`,
    input: Type.Object({ ...ofMessage, seen: Type.Optional(Type.Boolean()) }),
    async handle({ token, id, seen }, deps: DoorRouteDeps, request) {
      const { session, message } = await findOwn(deps, token, id)
      const mailbox = session.id
      if (seen !== undefined) await deps.store.saveSeen({ mailbox, id: message.id, seen })
      const isSeen = (await deps.store.listSeen(mailbox, [message.id])).length > 0
      const value = listedMessage(message, session, isSeen)
      return resourceResponse(request, { type: 'Message', path: `/messages/${id}`, value })
    },
  }),
  route({
    ...withToken,
    method: 'DELETE',
    path: `${BASE}/messages/{id}`,
    input: Type.Object(ofMessage),
    async handle({ token, id }, deps: DoorRouteDeps) {
      const { session, message } = await findOwn(deps, token, id)
      // First: once the message is deleted, the response must not be a failure.
      await deps.store.saveSeen({ mailbox: session.id, id: message.id, seen: false })
      await deleteMail(withAccountTokens(deps), token, message.id)
      return empty(204, {})
    },
  }),
  route({
    ...withToken,
    method: 'GET',
    path: `${BASE}/messages/{id}/download`,
    input: Type.Object(ofMessage),
    async handle({ token, id }, deps: DoorRouteDeps, request) {
      const { message } = await findOwn(deps, token, id)
      const raw = await readRawMail(deps, message, readingOf(request))
      return rawMailResponse({ message, raw }, deps.hostname)
    },
  }),
  route({
    ...withToken,
    method: 'GET',
    path: `${BASE}/messages/{id}/attachment/{attachment}`,
    input: Type.Object({ ...ofMessage, attachment: Type.String() }),
    async handle({ token, id, attachment }, deps: DoorRouteDeps, request) {
      const { message } = await findOwn(deps, token, id)
      const index = attachmentIndex(attachment)
      return attachmentResponse(
        await readAttachment(deps, message, { index, ...readingOf(request) }),
      )
    },
  }),
  route({
    ...withToken,
    method: 'GET',
    path: `${BASE}/sources/{id}`,
    input: Type.Object(ofMessage),
    async handle({ token, id }, deps: DoorRouteDeps, request) {
      const { message } = await findOwn(deps, token, id)
      const raw = await readRawMail(deps, message, readingOf(request))
      const lines = traceLines(message, raw, deps.hostname)
      const data = randomUUID()
      const long = new Map([[data, await runSteps(jsonText(lines, raw.bytes))]])
      const value = { id, downloadUrl: `/messages/${id}/download`, data }
      const resource = { type: 'Source', path: `/sources/${id}`, value } as const
      return jsonResponse(jsonParts(resourceValue(request, resource), long), {
        'content-type': mediaType(request.headers.accept),
      })
    },
  }),
]

const STEP_BYTES = 64 * 1024

/** A JSON string, made in steps. What is not UTF-8 is replaced; the download has the bytes. */
function* jsonText(head: string, bytes: Uint8Array): Generator<void, Buffer> {
  // Keeps the first bytes of a character for the next step.
  const decoder = new StringDecoder()
  const escaped = (text: string) => Buffer.from(JSON.stringify(text).slice(1, -1))
  const parts = [Buffer.from('"'), escaped(head)]
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    parts.push(escaped(decoder.write(bytes.subarray(at, at + STEP_BYTES))))
    yield
  }
  return Buffer.concat([...parts, escaped(decoder.end()), Buffer.from('"')])
}

function readingOf({ client, signal, reserveSendBudget: reserve }: HttpRequest) {
  return { client, signal: signal(), reserve }
}

/** First the token: whoever has none learns nothing about ids. */
async function findOwn(
  deps: DoorRouteDeps,
  token: string,
  id: string,
): Promise<{ session: Session; message: Message }> {
  const own = withAccountTokens(deps)
  const session = await liveSession(own, token)
  return { session, message: await findMessage(own, token, parseHexId(id), session) }
}

/** Undefined if there are not so many messages. */
async function messagePage(
  { store }: DoorRouteDeps,
  session: Session,
  page: number,
): Promise<MessagePage | undefined> {
  if (page === 1) return { sinceId: 0, limit: PAGE_SIZE }
  const all = await store.listMessageIds(session.id)
  const ids = all.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
  const [newest, oldest] = [ids[0], ids.at(-1)]
  if (newest === undefined || oldest === undefined) return undefined
  return { sinceId: oldest - 1, beforeId: newest + 1, limit: PAGE_SIZE }
}
