import { secretHash } from '../../base/id.ts'
import { withTimeout } from '../../base/jobs/repeat.ts'
import { Problem } from '../../base/problem.ts'
import { decodeInSteps } from '../../mime/decode.ts'
import type { AttachmentInfo, Mail, PartPosition, SenderChecks } from '../../shared/mail.ts'
import type { MailDeps } from '../deps.ts'
import type { Message, RawMail } from '../rules/message.ts'
import type { Session } from '../rules/session.ts'
import { liveSession, wakeSession } from '../sessions/session.ts'
import type { MailStore } from '../store.ts'
import type { MailJson, ParsedRequest } from './parsed-mail.ts'

/** The messages of a mailbox that is read without a token. */
export type MessageSource = Pick<MailStore, 'listMessages' | 'findMessage'>

interface ReadRequest {
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
  signal: AbortSignal
}

/** Request with the size of the response that contains what is read. */
interface SizedRequest extends ReadRequest {
  /** Called with the size of the result before it is read, as far as it is known. Throws if there is no room for it. */
  reserve(bytes: number): void
}

type ReadDeps = Pick<MailDeps, 'senderChecks' | 'resultWaitMs'>

/** The parsed mail of a message and its sender checks. */
export async function readMail(
  deps: ReadDeps & Pick<MailDeps, 'parsed'>,
  message: Message,
  request: ReadRequest,
): Promise<{ mail: Mail; checks: SenderChecks | undefined }> {
  const { read: mail, checks } = await readWith(deps, message, request, deps.parsed)
  return { mail, checks }
}

/** The same for a response in JSON. */
export async function readMailJson(
  deps: ReadDeps & Pick<MailDeps, 'mailJson'>,
  message: Message,
  request: SizedRequest,
): Promise<MailJson & { checks: SenderChecks | undefined }> {
  const { read, checks } = await readWith(deps, message, request, deps.mailJson)
  return { ...read, checks }
}

type Reader<T> = (rawId: number, request: ParsedRequest) => Promise<T | undefined>

async function readWith<T>(
  deps: ReadDeps,
  message: Message,
  request: ReadRequest,
  reader: Reader<T>,
) {
  const [read, checks] = await Promise.all([
    readParsed(reader, message, request),
    withTimeout(deps.resultWaitMs, deps.senderChecks(message)),
  ])
  return { read, checks }
}

/** The parsed mail of this message; parses it if necessary. */
async function readParsed<T>(
  reader: Reader<T>,
  { rawId, recipient: mailbox, size }: Message,
  { client, signal, reserve }: ReadRequest & Partial<SizedRequest>,
): Promise<T> {
  const read = await reader(rawId, { client, mailbox, size, signal, ...(reserve && { reserve }) })
  if (!read) throw messageNotFound()
  return read
}

/** The raw bytes of a message and its envelope. */
export async function readRawMail(
  deps: Pick<MailDeps, 'store' | 'largeReads'>,
  { rawId, recipient: mailbox, size }: Message,
  { client, signal, reserve }: SizedRequest,
): Promise<RawMail> {
  reserve(size)
  const raw = await deps.largeReads.run(`raw ${rawId}`, { client, mailbox, size, signal }, () =>
    deps.store.readRaw(rawId),
  )
  if (!raw) throw messageNotFound()
  return raw
}

/** `known`: the session, if it has just been read. */
export async function findMessage(
  deps: Pick<MailDeps, 'store' | 'now'>,
  token: string,
  id: number,
  known?: Session,
): Promise<Message> {
  const session = known ?? (await liveSession(deps, token))
  const message = await deps.store.findMessage(session.id, id)
  if (!message) throw messageNotFound()
  return message
}

/** The same for the id of a message of somebody else as for an unknown one. */
function messageNotFound(): Problem {
  return new Problem('message_not_found', 'id: there is no such message.')
}

/** One attachment, by its index in readMail. Its position in the raw mail is known from the parse. */
export async function readAttachment(
  deps: Pick<MailDeps, 'store' | 'parsed' | 'largeReads'>,
  message: Message,
  { index, reserve, ...request }: SizedRequest & { index: number },
): Promise<{ info: AttachmentInfo; bytes: Uint8Array }> {
  const mail = await readParsed(deps.parsed, message, request)
  const info = mail.attachments[index]
  if (!info) throw new Problem('not_found', 'index: this message has no such attachment.')
  reserve(info.size)
  const { position } = info
  const { rawId, recipient: mailbox, size } = message
  const turn = { ...request, mailbox, size }
  const bytes = await deps.largeReads.run(`part ${rawId} ${position.start}`, turn, () =>
    decodePart(deps, rawId, position),
  )
  return { info, bytes }
}

async function decodePart(
  { store }: Pick<MailDeps, 'store'>,
  rawId: number,
  { start, end, encoding }: PartPosition,
): Promise<Uint8Array> {
  const raw = await store.readRaw(rawId)
  if (!raw) throw messageNotFound()
  const { buffer, byteOffset, length } = raw.bytes
  return await decodeInSteps(Buffer.from(buffer, byteOffset, length).subarray(start, end), encoding)
}

type DeleteDeps = Pick<MailDeps, 'store' | 'bus' | 'now'>

export async function deleteMail(deps: DeleteDeps, token: string, id: number): Promise<void> {
  const session = await liveSession(deps, token)
  const { messages } = await deps.store.deleteMessages(session.id, [id], secretHash(token))
  if (messages === 0) {
    // The token may have been replaced meanwhile.
    await liveSession(deps, token)
    throw messageNotFound()
  }
  wakeSession(deps.bus, session)
}

// Few enough that mail received meanwhile does not wait for the commit.
const DELETED_AT_ONCE = 100

/** Deletes these messages, or all up to an id; returns how many there were. Unknown ids are ignored. */
export async function deleteSeveral(
  deps: DeleteDeps,
  token: string,
  selection: { ids: readonly number[] } | { upToId: number },
): Promise<number> {
  const { store, bus } = deps
  const session = await liveSession(deps, token)
  const ids =
    'ids' in selection
      ? [...new Set(selection.ids)]
      : (await store.listMessageIds(session.id)).filter((id) => id <= selection.upToId)
  let deleted = 0
  try {
    for (let at = 0; at < ids.length; at += DELETED_AT_ONCE) {
      const some = ids.slice(at, at + DELETED_AT_ONCE)
      deleted += (await store.deleteMessages(session.id, some, secretHash(token))).messages
    }
    if (deleted < ids.length) await liveSession(deps, token)
  } finally {
    if (deleted > 0) wakeSession(bus, session)
  }
  return deleted
}
