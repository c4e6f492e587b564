import { setTimeout } from 'node:timers/promises'
import {
  ACKNOWLEDGED,
  type LedgerLine,
  ledgerFaults,
  MAIL_MARK,
  sendUntilStopped,
  type TestMailbox,
} from '../store/ledger.ts'
import { type Actor, call, form, type Round, repeatUntilStopped, type Target } from './actor.ts'

const SENDERS = 8
// Once there are enough mails in a round, but not at the fault, which is to interrupt as many as possible.
const SLOW_PACE_MS = 50
const MAX_RECIPIENTS = 3
/** During a fault, a mail is to be sent again. 0 is a closed connection. */
const DEFERRED = new Set([0, 421, 451, 452])
const LIST_LIMIT = 500
const DELETERS = 3
const DELETED_AT_ONCE = 5

interface Poll {
  token: string
  ids: ReadonlyMap<string, number>
}

interface Listing {
  messages: { id: number; subject: string }[]
}

/** Senders, polls and deletions: what they are told must be in every later list, until it is deleted. */
export function mailActor({ mails, polls }: { mails: number; polls: boolean }) {
  const rounds: { boxes: readonly TestMailbox[]; lines: LedgerLine[] }[] = []
  const current = () => rounds.at(-1) ?? { boxes: [], lines: [] }
  let isChecked = false
  const faults: string[] = []
  let polled = 0
  let deferred = 0
  let unanswered = 0
  /** In this round. */
  let acknowledged = 0

  function noteReply(code: number, { isFaultDue }: Round): void {
    if (code !== 250 && !(isFaultDue() && DEFERRED.has(code))) faults.push(`a mail got ${code}`)
    if (code === 250) acknowledged += 1
    else if (code === 0) unanswered += 1
    else deferred += 1
  }

  /** The list of a random mailbox, by subject, compared with what was acknowledged before the request. */
  async function poll({ url }: Target, { isOutage }: Round): Promise<Poll | undefined> {
    const { boxes, lines } = current()
    const box = boxes[Math.floor(Math.random() * boxes.length)]
    if (!box) return undefined
    const { token } = box
    const own = lines.filter((line) => line.token === token)
    const acknowledged = own.filter(isThere)
    const deleted = own.filter(({ deletion }) => deletion === 'done')
    const response = await call(`${url}/api/check-mail?token=${token}&limit=${LIST_LIMIT}`)
    if (response?.status !== 200) {
      if (response && !isOutage(response.status)) faults.push(`check-mail: ${response.status}`)
      return undefined
    }
    polled += 1
    const { messages } = response.body as unknown as Listing
    const ids = new Map(messages.map(({ id, subject }) => [subject, id]))
    // Others may have been deleted meanwhile.
    const expected = acknowledged.filter(isThere)
    const sent = lines.filter((line) => line.token === token)
    faults.push(...listFaults({ expected, deleted, sent }, [...ids.keys()]))
    return { token, ids }
  }

  /** Deletes the first mails of a random mailbox that are left. */
  async function remove(target: Target, round: Round): Promise<void> {
    const polledList = await poll(target, round)
    if (!polledList) return
    const { token, ids: listed } = polledList
    const left = current().lines.filter((line) => {
      return line.token === token && isThere(line) && listed.has(line.uuid)
    })
    const lines = left.slice(0, DELETED_AT_ONCE)
    if (lines.length === 0) return
    for (const line of lines) line.deletion = 'requested'
    const ids = lines.map(({ uuid }) => listed.get(uuid)).join(',')
    const response = await call(`${target.url}/api/delete-mail`, form({ token, ids }))
    if (response?.status === 200) for (const line of lines) line.deletion = 'done'
    else if (response && !round.isOutage(response.status))
      faults.push(`delete-mail: ${response.status}`)
  }

  const actor: Actor = {
    async run(target, round) {
      const { boxes, stopped, isFaultDue } = round
      const lines: LedgerLine[] = []
      rounds.push({ boxes, lines })
      acknowledged = 0
      const afterReply = async (code: number) => {
        noteReply(code, round)
        // Each has to be looked for.
        if (acknowledged > (isFaultDue() ? 3 : 1) * mails) await setTimeout(SLOW_PACE_MS)
      }
      const { smtpPort } = target
      const options = { stopped, maxRecipients: MAX_RECIPIENTS, afterReply }
      await Promise.all([
        ...Array.from({ length: SENDERS }, () =>
          sendUntilStopped(boxes, { smtpPort, ledger: lines, ...options }),
        ),
        ...Array.from({ length: polls ? DELETERS : 0 }, () =>
          repeatUntilStopped({ stopped }, 20, async () => {
            await poll(target, round)
            await remove(target, round)
          }),
        ),
      ])
    },
    async faults({ url }, all) {
      const found = faults.splice(0)
      // Contents once, after the last fault: it is enough to know then that one has changed.
      for (const round of all ? rounds : [current()])
        found.push(...(await ledgerFaults(url, round.boxes, round.lines, { contents: all })))
      isChecked ||= all
      return found
    },
    counts() {
      const all = isChecked ? rounds.flatMap((round) => round.lines) : []
      const lines = all.filter(({ isAcknowledged }) => isAcknowledged)
      const deleted = lines.filter(({ deletion }) => deletion === 'done')
      const mailCount = new Set(lines.map(({ uuid }) => uuid)).size
      return {
        [ACKNOWLEDGED]: mailCount,
        'copies for further recipients': lines.length - mailCount,
        'mails without a reply': unanswered,
        'deferred mails': deferred,
        ...(polls && { deletions: deleted.length, polls: polled }),
      }
    },
    secrets: () => [
      MAIL_MARK,
      ...rounds.flatMap(({ boxes }) => boxes.flatMap(({ email, token }) => [email, token])),
    ],
  }
  return { ...actor, isBusy: () => acknowledged >= mails }
}

/** It was acknowledged, and nobody has tried to delete it. */
function isThere({ isAcknowledged, deletion }: LedgerLine): boolean {
  return isAcknowledged && !deletion
}

interface KnownMails {
  /** Acknowledged before the list was requested. */
  expected: readonly Pick<LedgerLine, 'uuid'>[]
  /** Deleted before it was requested. */
  deleted: readonly Pick<LedgerLine, 'uuid'>[]
  /** All that were sent to the mailbox. */
  sent: readonly Pick<LedgerLine, 'uuid'>[]
}

/** What is wrong with the subjects of a list. */
export function listFaults(
  { expected, deleted, sent }: KnownMails,
  subjects: readonly string[],
): string[] {
  const listed = new Set(subjects)
  const known = new Set(sent.map(({ uuid }) => uuid))
  return [
    ...expected
      .filter(({ uuid }) => !listed.has(uuid))
      .map(({ uuid }) => `${uuid} is not in a list after its 250`),
    ...deleted
      .filter(({ uuid }) => listed.has(uuid))
      .map(({ uuid }) => `${uuid} is in a list after its deletion`),
    ...subjects
      .filter((subject) => !known.has(subject))
      .map((subject) => `${subject} is in a list of a mailbox that it was not sent to`),
  ]
}
