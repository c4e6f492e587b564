import type { Mail, Message, RawMail, SenderChecks } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import type { MailStore } from '../store/store.ts'
import { type LiveSessionNeeds, liveSession } from './live-session.ts'
import type { SenderChecked } from './sender-checks.ts'
import { within } from './within.ts'

export interface FindMailNeeds extends LiveSessionNeeds {
  store: Pick<MailStore, 'findSession' | 'findMessage' | 'readRaw'>
}

export interface ReadMailNeeds extends LiveSessionNeeds {
  store: Pick<MailStore, 'findSession' | 'findMessage'>
  parsed: Parsed
  senderChecks: SenderChecked
  /** So long a reader waits for them. */
  patienceMs: number
}

/** The messages of a box whose reader needs no token. */
export type OpenBox = Pick<MailStore, 'listMessages' | 'findMessage'>

/** The parse of a kept mail; undefined when the mail is gone. `later`: nobody waits for it, and all others go first. */
export type Parsed = (rawId: number, haste?: 'later') => Promise<Mail | undefined>

/** One message of this session with all that was read from it. */
export async function readMail(
  needs: ReadMailNeeds,
  token: string,
  id: number,
): Promise<{ message: Message; mail: Mail; checks: SenderChecks | undefined }> {
  const message = await findMessage(needs, token, id)
  const [mail, checks] = await Promise.all([
    needs.parsed(message.rawId),
    within(needs.patienceMs, needs.senderChecks(message)),
  ])
  if (!mail) throw messageNotFound()
  return { message, mail, checks }
}

/** One message of this session with its bytes and the way they came. */
export async function readRawMail(
  needs: FindMailNeeds,
  token: string,
  id: number,
): Promise<{ message: Message; raw: RawMail }> {
  const message = await findMessage(needs, token, id)
  const raw = await needs.store.readRaw(message.rawId)
  if (!raw) throw messageNotFound()
  return { message, raw }
}

async function findMessage(
  needs: LiveSessionNeeds & { store: Pick<MailStore, 'findMessage'> },
  token: string,
  id: number,
): Promise<Message> {
  const session = await liveSession(needs, token)
  const message = await needs.store.findMessage(session.id, id)
  if (!message) throw messageNotFound()
  return message
}

/** The same for an id of another session as for one that never was. */
export function messageNotFound(): Problem {
  return new Problem('message_not_found', 'id: this session has no such message.')
}
