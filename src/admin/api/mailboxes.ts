import { Type } from 'typebox'
import { type Address, parseAddress } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { timestampFields } from '../../base/time.ts'
import { invalidCursor, nextField, pageFields, readPage } from '../../http/server/admin-list.ts'
import { adminRoute } from '../../http/server/admin-route.ts'
import { success } from '../../http/server/response.ts'
import { countField, named, nullableTimeFields, successSchema } from '../../http/server/schemas.ts'
import { rawMailResponse } from '../../mail/api/downloads.ts'
import { addressField, messageIdField } from '../../mail/api/schemas.ts'
import {
  deleteOperatorMail,
  endSessionByAddress,
  findNamedSessions,
  type OperatorDeps,
  readOperatorMail,
  readRawOperatorMail,
  sessionJson,
} from '../../mail/operator.ts'
import type { MessageSummary } from '../../mail/rules/message.ts'
import { type MailboxId, OPERATOR } from '../../mail/rules/session.ts'
import { wakeSession } from '../../mail/sessions/session.ts'
import type { AdminDeps } from '../deps.ts'

// The mail of sessions and of the pool is not readable here, whoever asks.

const sessionSchema = named('AdminSession', {
  email: addressField,
  ...nullableTimeFields('created_at'),
  ...nullableTimeFields('expires_at'),
  messages: countField(3),
  bytes: countField(12_000),
  key: Type.Boolean({ description: 'Whether it was created with a key.' }),
})

const sessionRoutes = [
  adminRoute({
    method: 'GET',
    path: '/sessions',
    title: 'Sessions',
    description: 'Live sessions: the one of an address, or all of them. Never their mail.',
    input: Type.Object({
      address: Type.Optional(Type.String({ description: 'Only the session of this address.' })),
      order: Type.Optional(
        Type.String({ description: '`newest` first, which is the default, or `largest`.' }),
      ),
      ...pageFields,
    }),
    output: successSchema({ sessions: Type.Array(sessionSchema), next: nextField }),
    async handle({ address, order = 'newest', ...page }, deps: AdminDeps) {
      if (address !== undefined) {
        const found = await deps.store.findSessionByAddress(addressOf(address), deps.now())
        return success({ sessions: found ? [sessionJson(found)] : [], next: null })
      }
      if (order !== 'newest' && order !== 'largest') {
        throw new Problem('invalid_parameter', 'order: must be newest or largest.')
      }
      const { entries, next } = await readPage(
        page,
        ({ before, limit }) => {
          const last = before && { bytes: before.rank, id: mailboxId(before.id) }
          return deps.store.listSessions({ order, limit, before: last, now: deps.now() })
        },
        ({ bytes, id }) => ({ rank: bytes, id }),
      )
      return success({ sessions: entries.map(sessionJson), next })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/sessions/end',
    title: 'End a session',
    description:
      'Ends the live session of an address: its mail is deleted, and the cool-down of its address begins.',
    input: Type.Object({ address: Type.String({ description: 'The address.' }) }),
    output: successSchema({ session: sessionSchema }),
    problems: ['not_found'],
    async handle({ address }, deps: AdminDeps) {
      const ended = await endSessionByAddress(operatorDeps(deps), addressOf(address))
      if (!ended) throw new Problem('not_found', 'No live session has this address.')
      wakeSession(deps.bus, ended)
      return success({ session: sessionJson(ended) })
    },
  }),
]

const summaryFields = {
  id: messageIdField,
  to: addressField,
  sender_name: Type.String({ examples: ['Ann'] }),
  sender_email: Type.String({ examples: ['ann@sender.example'] }),
  subject: Type.String({ examples: ['Abuse report'] }),
  size: countField(4_000),
  ...nullableTimeFields('received_at'),
}

const mailRoutes = [
  adminRoute({
    method: 'GET',
    path: '/mail',
    title: 'Operator mail',
    description: 'Mail to postmaster and abuse, newest first.',
    input: Type.Object(pageFields),
    output: successSchema({
      messages: Type.Array(named('OperatorMailSummary', summaryFields)),
      next: nextField,
    }),
    async handle(page, { store }: AdminDeps) {
      const { entries, next } = await readPage(
        page,
        ({ before, limit }) =>
          store.listMessages(OPERATOR, { sinceId: 0, beforeId: before?.rank, limit }),
        ({ id }) => ({ rank: id }),
      )
      return success({ messages: entries.map(summaryJson), next })
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/mail/{id}',
    title: 'Read operator mail',
    description:
      'One message to postmaster or abuse, as text, with the live sessions of addresses that it names.',
    input: Type.Object({ id: Type.Integer({ minimum: 0 }) }),
    output: successSchema({
      message: named('OperatorMail', {
        ...summaryFields,
        text: Type.String(),
        truncated: Type.Boolean(),
        attachments: Type.Array(Type.Object({ filename: Type.String(), size: countField(12_000) })),
      }),
      sessions: Type.Array(sessionSchema),
    }),
    problems: ['message_not_found'],
    async handle({ id }, deps: AdminDeps, { client, signal }) {
      const found = await readOperatorMail(deps, id, { client, signal: signal() })
      if (!found) throw noMessage()
      const { message, mail } = found
      const { htmlText, truncated = false, attachments } = mail
      const shown = htmlText ?? { text: mail.text ?? '', truncated }
      const sessions = await findNamedSessions(
        operatorDeps(deps),
        `${message.subject}\n${shown.text}`,
      )
      return success({
        message: {
          ...summaryJson(message),
          ...shown,
          attachments: attachments.map(({ filename, size }) => ({ filename, size })),
        },
        sessions: sessions.map(sessionJson),
      })
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/mail/{id}/raw',
    title: 'Download operator mail',
    description:
      'One message to postmaster or abuse as received, with its attachments, as `/api/raw-mail` returns it.',
    input: Type.Object({ id: Type.Integer({ minimum: 0 }) }),
    output: 'message/rfc822',
    problems: ['message_not_found'],
    async handle({ id }, deps: AdminDeps, { client, signal }) {
      const found = await readRawOperatorMail(deps, id, { client, signal: signal() })
      if (!found) throw noMessage()
      return rawMailResponse(found, deps.hostname)
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/mail/delete',
    title: 'Delete operator mail',
    description: 'Deletes one message to postmaster or abuse, or all up to an id.',
    input: Type.Object({
      id: Type.Optional(Type.Integer({ minimum: 0, description: 'The id of the message.' })),
      all: Type.Optional(Type.Boolean({ description: '1 instead of an id: all up to up_to_id.' })),
      up_to_id: Type.Optional(
        Type.Integer({ minimum: 0, description: 'With all=1: nothing newer is deleted.' }),
      ),
    }),
    output: successSchema({ deleted: countField(1) }),
    problems: ['message_not_found'],
    async handle({ id, all = false, up_to_id: upToId }, deps: AdminDeps) {
      const which = all && upToId !== undefined ? { upToId } : id
      if ((id === undefined) !== all || which === undefined) {
        throw new Problem('invalid_parameter', 'Give either id, or all=1 with up_to_id.')
      }
      const { messages } = await deleteOperatorMail(operatorDeps(deps), which)
      if (id !== undefined && messages === 0) throw noMessage()
      return success({ deleted: messages })
    },
  }),
]

export const mailboxRoutes = [...sessionRoutes, ...mailRoutes]

/** In the service, a write is visible to every request that starts after it. */
function operatorDeps({ store, now }: AdminDeps): OperatorDeps {
  return { store: { ...store, waitUntilVisible: async () => {} }, now }
}

function mailboxId(text: string): MailboxId {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) throw invalidCursor()
  return Number(text) as MailboxId
}

function addressOf(text: string): Address {
  const address = parseAddress(text.trim())
  if (!address) throw new Problem('invalid_parameter', 'address: this is not an address.')
  return address
}

function noMessage(): Problem {
  return new Problem('message_not_found', 'No message for postmaster or abuse has this id.')
}

function summaryJson(message: MessageSummary & { recipient: string; size: number }) {
  return {
    id: message.id,
    to: message.recipient,
    sender_name: message.senderName,
    sender_email: message.senderEmail,
    subject: message.subject,
    size: message.size,
    ...timestampFields('received_at', message.receivedAt),
  }
}
