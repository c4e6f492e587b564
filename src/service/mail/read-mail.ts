import type { Mail, Message, RawMail, SenderChecks } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { MailStore } from '../../store/store.ts'
import { withTimeout } from '../background/timing.ts'
import { type LiveSessionDeps, liveSession } from '../sessions/live-session.ts'
import type { LargeReads } from './large-reads.ts'
import type { Parsed } from './parsed-mail.ts'
import type { SenderChecked } from './sender-checks.ts'

export interface FindMailDeps extends LiveSessionDeps {
  store: Pick<MailStore, 'findSession' | 'findMessage' | 'readRaw'>
  largeReads: LargeReads
}

export interface ReadMailDeps extends LiveSessionDeps {
  store: Pick<MailStore, 'findSession' | 'findMessage'>
  parsed: Parsed
  senderChecks: SenderChecked
  /** So long a reader waits for them. */
  patienceMs: number
}

/** The messages of a box whose reader needs no token. */
export type OpenBox = Pick<MailStore, 'listMessages' | 'findMessage'>

/** Which message is read, and for whom. */
export interface MailQuery {
  token: string
  id: number
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
  signal: AbortSignal
}

/** One message of this session with all that was read from it. */
export async function readMail(
  deps: ReadMailDeps,
  query: MailQuery,
): Promise<{ message: Message; mail: Mail; checks: SenderChecks | undefined }> {
  const message = await findMessage(deps, query.token, query.id)
  const [mail, checks] = await Promise.all([
    parsedOf(deps, message, query),
    withTimeout(deps.patienceMs, deps.senderChecks(message)),
  ])
  return { message, mail, checks }
}

/** What was read from this message; it is parsed now if it never was. */
export async function parsedOf(
  { parsed }: Pick<ReadMailDeps, 'parsed'>,
  { rawId, recipient: mailbox, size }: Message,
  { client, signal }: Pick<MailQuery, 'client' | 'signal'>,
): Promise<Mail> {
  const mail = await parsed(rawId, { client, mailbox, size, signal })
  if (!mail) throw messageNotFound()
  return mail
}

/** One message of this session with its bytes and the way they came. */
export async function readRawMail(
  deps: FindMailDeps,
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
  deps: LiveSessionDeps & { store: Pick<MailStore, 'findMessage'> },
  token: string,
  id: number,
): Promise<Message> {
  const session = await liveSession(deps, token)
  const message = await deps.store.findMessage(session.id, id)
  if (!message) throw messageNotFound()
  return message
}

/** The same for an id of another session as for one that never was. */
export function messageNotFound(): Problem {
  return new Problem('message_not_found', 'id: this session has no such message.')
}
