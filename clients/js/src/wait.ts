import type { MessageSummary } from './api.ts'
import type { Filter, ParsedFilter } from './events.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Deadline,
  MayflyError,
  MayflyTimeoutError,
  startDeadline,
} from './request.ts'

export interface WaitOptions extends Filter, CallOptions {}

type NextOptions = WaitOptions & ParsedFilter

/** What waiting needs of a mailbox. */
export interface WaitingMailbox {
  email: string
  /** Messages that a waiting method has returned. */
  returned: Set<number>
  list(params: NonNullable<ApiRequest['params']>, deadline: Deadline): Promise<MessageSummary[]>
}

type PickFrom<T> = (summary: MessageSummary, deadline: Deadline) => Promise<T | undefined>

// The longest wait of one long poll; the server allows 55 s.
const MAX_WAIT_SECONDS = 50
// After that, also older messages that were parsed meanwhile are found.
const MAX_PARSE_WAIT_SECONDS = 5
const LIST_LIMIT = 500
const CONTENTS_LIMIT = 10
const CONTENTS_MS = 10_000

/** What `pick` makes of the oldest message for which it makes something. */
export async function waitForNext<T>(
  mailbox: WaitingMailbox,
  what: string,
  { timeout, signal, ...filter }: NextOptions,
  pick: PickFrom<T>,
): Promise<T> {
  const deadline = startDeadline({ timeout, signal })
  const seen = new Set(mailbox.returned)
  const longest = filter.has_code || filter.has_link ? MAX_PARSE_WAIT_SECONDS : MAX_WAIT_SECONDS
  try {
    for (;;) {
      const wait = seen.size === 0 ? waitSeconds(deadline) : 0
      const found = await mailbox.list({ ...filter, limit: LIST_LIMIT, wait }, deadline)
      const unseen = found.filter(({ id }) => !seen.has(id)).reverse()
      for (const { id } of unseen) seen.add(id)
      const picked = await pickOldest(mailbox, unseen, (summary) => pick(summary, deadline))
      if (picked !== undefined) return picked
      // The result is ignored and all are listed again, because the oldest may be the last to be parsed.
      if (seen.size > 0) {
        const after = { since_id: found[0]?.id ?? 0, wait: waitSeconds(deadline, longest) }
        await mailbox.list({ ...filter, ...after }, deadline)
      }
    }
  } catch (cause) {
    if (!(cause instanceof MayflyTimeoutError)) throw cause
    const where = `at ${mailbox.email} within ${deadline.timeout} ms; ${await contentsOf(mailbox)}`
    throw new MayflyTimeoutError(`No ${what}${describe(filter)} ${where}`, { cause })
  }
}

async function pickOldest<T>(
  { returned }: WaitingMailbox,
  found: readonly MessageSummary[],
  pick: (summary: MessageSummary) => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const summary of found) {
    if (returned.has(summary.id)) continue
    const picked = await pick(summary).catch(ignoreDeleted)
    // Another wait may have returned it meanwhile.
    if (picked === undefined || returned.has(summary.id)) continue
    returned.add(summary.id)
    return picked
  }
  return undefined
}

/** Somebody else may delete a message between the list and its reading. */
function ignoreDeleted(error: unknown): undefined {
  if (!(error instanceof MayflyError && error.code === 'message_not_found')) throw error
}

/** For the message of an error. */
async function contentsOf({ list, returned }: WaitingMailbox): Promise<string> {
  try {
    const deadline = startDeadline({ timeout: CONTENTS_MS })
    const lines = (await list({ limit: CONTENTS_LIMIT }, deadline)).map(
      ({ id, subject, sender_email: sender }) =>
        `“${subject}” from ${sender}${returned.has(id) ? ' (already returned)' : ''}`,
    )
    return lines.length === 0 ? 'the mailbox is empty' : `the mailbox has ${lines.join(', ')}`
  } catch (error) {
    return `the mailbox cannot be read: ${(error as Error).message}`
  }
}

function waitSeconds(deadline: Deadline, most = MAX_WAIT_SECONDS): number {
  return Math.min(most, Math.max(1, Math.ceil(deadline.remainingMs() / 1_000)))
}

function describe({ from, subject }: Filter): string {
  return [from && ` from ${from}`, subject && ` with “${subject}” in the subject`]
    .filter(Boolean)
    .join('')
}
