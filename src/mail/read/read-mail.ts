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

interface MailQuery {
  token: string
  /** If it has just been read. */
  session?: Session
  id: number
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
  signal: AbortSignal
}

/** Query with the size of the response that contains what is read. */
interface SizedQuery extends MailQuery {
  /** Called with the size of the result before it is read, as far as it is known. Throws if there is no room for it. */
  reserve(bytes: number): void
}

type ReadDeps = Pick<MailDeps, 'store' | 'now' | 'senderChecks' | 'resultWaitMs'>

/** One message of this session with its parsed mail and sender checks. */
export async function readMail(
  deps: ReadDeps & Pick<MailDeps, 'parsed'>,
  query: MailQuery,
): Promise<{ message: Message; mail: Mail; checks: SenderChecks | undefined }> {
  const { read: mail, ...rest } = await readWith(deps, query, deps.parsed)
  return { ...rest, mail }
}

/** The same for a response in JSON. */
export async function readMailJson(
  deps: ReadDeps & Pick<MailDeps, 'mailJson'>,
  query: SizedQuery,
): Promise<MailJson & { message: Message; checks: SenderChecks | undefined }> {
  const { read, ...rest } = await readWith(deps, query, deps.mailJson)
  return { ...rest, ...read }
}

type Reader<T> = (rawId: number, request: ParsedRequest) => Promise<T | undefined>

async function readWith<T>(deps: ReadDeps, query: MailQuery, reader: Reader<T>) {
  const message = await findMessage(deps, query.token, query.id, query.session)
  const [read, checks] = await Promise.all([
    readParsed(reader, message, query),
    withTimeout(deps.resultWaitMs, deps.senderChecks(message)),
  ])
  return { message, read, checks }
}

/** The parsed mail of this message; parses it if necessary. */
async function readParsed<T>(
  reader: Reader<T>,
  { rawId, recipient: mailbox, size }: Message,
  { client, signal, reserve }: Pick<MailQuery, 'client' | 'signal'> & Partial<SizedQuery>,
): Promise<T> {
  const read = await reader(rawId, { client, mailbox, size, signal, ...(reserve && { reserve }) })
  if (!read) throw messageNotFound()
  return read
}

/** One message of this session with its raw bytes and envelope. */
export async function readRawMail(
  deps: Pick<MailDeps, 'store' | 'now' | 'largeReads'>,
  { token, id, client, signal, reserve }: SizedQuery,
): Promise<{ message: Message; raw: RawMail }> {
  const message = await findMessage(deps, token, id)
  const { rawId, recipient: mailbox, size } = message
  reserve(size)
  const raw = await deps.largeReads.run(`raw ${rawId}`, { client, mailbox, size, signal }, () =>
    deps.store.readRaw(rawId),
  )
  if (!raw) throw messageNotFound()
  return { message, raw }
}

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

/** The same for the id of another session's message as for an unknown one. */
function messageNotFound(): Problem {
  return new Problem('message_not_found', 'id: this session has no such message.')
}

/** One attachment, by its index in readMail. Its position in the raw mail is known from the parse. */
export async function readAttachment(
  deps: Pick<MailDeps, 'store' | 'now' | 'parsed' | 'largeReads'>,
  { reserve, ...query }: SizedQuery & { index: number },
): Promise<{ info: AttachmentInfo; bytes: Uint8Array }> {
  const message = await findMessage(deps, query.token, query.id)
  const mail = await readParsed(deps.parsed, message, query)
  const info = mail.attachments[query.index]
  if (!info) throw new Problem('not_found', 'index: this message has no such attachment.')
  reserve(info.size)
  const { client, signal } = query
  const { position } = info
  const { rawId, recipient: mailbox, size } = message
  const request = { client, mailbox, size, signal }
  const bytes = await deps.largeReads.run(`part ${rawId} ${position.start}`, request, () =>
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
  const { messages } = await deps.store.deleteMessages(session.id, [id])
  if (messages === 0) throw messageNotFound()
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
      deleted += (await store.deleteMessages(session.id, some)).messages
    }
  } finally {
    if (deleted > 0) wakeSession(bus, session)
  }
  return deleted
}
