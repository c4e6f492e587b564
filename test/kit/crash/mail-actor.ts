import { setTimeout } from 'node:timers/promises'
import {
  type LedgerLine,
  ledgerFaults,
  sendUntilStopped,
  type TestMailbox,
} from '../store/ledger.ts'
import { type Actor, call, form, repeatUntilStopped, type Target } from './actor.ts'

const SENDERS = 8
// Once there are enough mails in a round.
const SLOW_PACE_MS = 50
/** Of a mail to a live address: stored, or to be sent again. 0 is a closed connection. */
const EXPECTED = new Set([250, 0, 421, 451, 452])
const LIST_LIMIT = 500
const DELETERS = 3
const DELETED_AT_ONCE = 5

interface Listing {
  messages: { id: number; subject: string }[]
}

/** Senders, polls and deletions: what they are told must be in every later list, until it is deleted. */
export function mailActor({ mails, polls }: { mails: number; polls: boolean }) {
  const rounds: { boxes: readonly TestMailbox[]; lines: LedgerLine[] }[] = []
  const current = () => rounds.at(-1) ?? { boxes: [], lines: [] }
  const faults: string[] = []
  let polled = 0

  /** The list of a random mailbox, and whether it has every mail that was acknowledged before the request. */
  async function poll({ url }: Target): Promise<Map<string, number> | undefined> {
    const { boxes, lines } = current()
    const box = boxes[Math.floor(Math.random() * boxes.length)]
    if (!box) return undefined
    const { token } = box
    const before = lines.filter((line) => line.token === token && !line.deletion)
    const response = await call(`${url}/api/check-mail?token=${token}&limit=${LIST_LIMIT}`)
    if (response?.status !== 200) {
      if (response && response.status !== 503) faults.push(`check-mail: ${response.status}`)
      return undefined
    }
    polled += 1
    const { messages } = response.body as unknown as Listing
    const ids = new Map(messages.map(({ id, subject }) => [subject, id]))
    for (const { uuid, deletion } of before) {
      if (!ids.has(uuid) && !deletion) faults.push(`${uuid} is not in a list after its 250`)
    }
    return ids
  }

  /** Deletes the first mails of a random mailbox that are left. */
  async function remove(target: Target): Promise<void> {
    const listed = await poll(target)
    if (!listed) return
    const left = current().lines.filter(({ uuid, deletion }) => !deletion && listed.has(uuid))
    const lines = left.slice(0, DELETED_AT_ONCE)
    const [first] = lines
    if (!first) return
    for (const line of lines) line.deletion = 'requested'
    const ids = lines.map(({ uuid }) => listed.get(uuid)).join(',')
    const response = await call(`${target.url}/api/delete-mail`, form({ token: first.token, ids }))
    if (response?.status === 200) for (const line of lines) line.deletion = 'done'
    else if (response && response.status !== 503) faults.push(`delete-mail: ${response.status}`)
  }

  const actor: Actor = {
    async run(target, { boxes, stopped }) {
      const lines: LedgerLine[] = []
      rounds.push({ boxes, lines })
      const ledger = { write: (line: LedgerLine) => void lines.push(line) }
      const afterReply = async (code: number) => {
        if (!EXPECTED.has(code)) faults.push(`a mail got ${code}`)
        // Each has to be looked for. Not before the fault, which is to interrupt as many as possible.
        if (lines.length > 2 * mails) await setTimeout(SLOW_PACE_MS)
      }
      const options = { smtpPort: target.smtpPort, ledger, stopped, afterReply }
      await Promise.all([
        ...Array.from({ length: SENDERS }, () => sendUntilStopped(boxes, options)),
        ...Array.from({ length: polls ? DELETERS : 0 }, () =>
          repeatUntilStopped({ stopped }, 20, async () => {
            await poll(target)
            await remove(target)
          }),
        ),
      ])
    },
    async faults({ url }, all) {
      const found = faults.splice(0)
      for (const { boxes, lines } of all ? rounds : [current()]) {
        found.push(...(await ledgerFaults(url, boxes, lines)))
      }
      return found
    },
    counts: () => ({
      mails: rounds.reduce((sum, { lines }) => sum + lines.length, 0),
      deletions: rounds.reduce(
        (sum, { lines }) => sum + lines.filter(({ deletion }) => deletion === 'done').length,
        0,
      ),
      polls: polled,
    }),
  }
  return { ...actor, isBusy: () => current().lines.length >= mails }
}
