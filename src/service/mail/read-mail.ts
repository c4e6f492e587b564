import type {
  AttachmentInfo,
  Mail,
  Message,
  PartPosition,
  RawMail,
  SenderChecks,
} from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { Session } from '../../core/session.ts'
import { decodeInSteps } from '../../mime/decode.ts'
import type { MailStore } from '../../store/store.ts'
import { withTimeout } from '../background/repeat.ts'
import type { ServiceDeps } from '../deps.ts'
import { liveSession, wakeSession } from '../sessions/session.ts'

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

/** One message of this session with its parsed mail and sender checks. */
export async function readMail(
  deps: Pick<ServiceDeps, 'store' | 'now' | 'parsed' | 'senderChecks' | 'resultWaitMs'>,
  query: MailQuery,
): Promise<{ message: Message; mail: Mail; checks: SenderChecks | undefined }> {
  const message = await findMessage(deps, query.token, query.id, query.session)
  const [mail, checks] = await Promise.all([
    readParsedMail(deps, message, query),
    withTimeout(deps.resultWaitMs, deps.senderChecks(message)),
  ])
  return { message, mail, checks }
}

/** The parsed mail of this message; parses it if necessary. */
async function readParsedMail(
  { parsed }: Pick<ServiceDeps, 'parsed'>,
  { rawId, recipient: mailbox, size }: Message,
  { client, signal }: Pick<MailQuery, 'client' | 'signal'>,
): Promise<Mail> {
  const mail = await parsed(rawId, { client, mailbox, size, signal })
  if (!mail) throw messageNotFound()
  return mail
}

/** One message of this session with its raw bytes and envelope. */
export async function readRawMail(
  deps: Pick<ServiceDeps, 'store' | 'now' | 'largeReads'>,
  { token, id, client, signal }: MailQuery,
): Promise<{ message: Message; raw: RawMail }> {
  const message = await findMessage(deps, token, id)
  const { rawId, recipient: mailbox, size } = message
  const raw = await deps.largeReads.run(`raw ${rawId}`, { client, mailbox, size, signal }, () =>
    deps.store.readRaw(rawId),
  )
  if (!raw) throw messageNotFound()
  return { message, raw }
}

export async function findMessage(
  deps: Pick<ServiceDeps, 'store' | 'now'>,
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
  deps: Pick<ServiceDeps, 'store' | 'now' | 'parsed' | 'largeReads'>,
  query: MailQuery & { index: number },
): Promise<{ info: AttachmentInfo; bytes: Uint8Array }> {
  const message = await findMessage(deps, query.token, query.id)
  const mail = await readParsedMail(deps, message, query)
  const info = mail.attachments[query.index]
  if (!info) throw new Problem('not_found', 'index: this message has no such attachment.')
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
  { store }: Pick<ServiceDeps, 'store'>,
  rawId: number,
  { start, end, encoding }: PartPosition,
): Promise<Uint8Array> {
  const raw = await store.readRaw(rawId)
  if (!raw) throw messageNotFound()
  const { buffer, byteOffset, length } = raw.bytes
  return await decodeInSteps(Buffer.from(buffer, byteOffset, length).subarray(start, end), encoding)
}

type DeleteDeps = Pick<ServiceDeps, 'store' | 'bus' | 'now'>

export async function deleteMail(deps: DeleteDeps, token: string, id: number): Promise<void> {
  const session = await liveSession(deps, token)
  if (!(await deps.store.deleteMessage(session.id, id))) throw messageNotFound()
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
