import type { EmailsElement } from '../../../test/kit/http/api-client.ts'
import { type LedgerLine, type TestMailbox, uniqueMail } from '../../../test/kit/store/ledger.ts'
import { mailText } from '../mail-text.ts'
import type { RequestOptions, SoakRequest } from './requests.ts'
import type { Senders } from './senders.ts'
import type { Tally } from './tally.ts'

// Mail to short sessions, to the pool and to mailboxes that last, and what owners do with it. A session is there until it expires
// or is ended, and a message until it is deleted; nothing else is accepted.

export const SESSION_SECONDS = 60
// The others expire.
const ENDED_EARLY = 0.3
const MIN_SESSIONS = 20
const TO_POOL = 0.35
const TO_RECORDED = 0.05
const POOL_ADDRESSES = 500
/** expires_at has whole seconds. */
const ROUNDING_MS = 1_000
/** One with less time left may have expired when it is extended: then it is empty. */
const MIN_LEFT_MS = 10_000

/** Sizes in bytes, with the share of each. */
const SIZES: readonly (readonly [number, number])[] = [
  [0.8, 4_096],
  [0.18, 20_480],
  [0.02, 204_800],
]

export interface Box extends TestMailbox {
  expiresAt: number
  /** Its end was requested. */
  isEnding?: true
  /** The newest message that was listed and neither read nor deleted. */
  newest?: number | undefined
  /** Each message is read or deleted once. */
  usedId: number
}

/** Mailboxes that last, and the unique mails that were sent to them. */
export interface Recorded {
  boxes: readonly TestMailbox[]
  lines: LedgerLine[]
}

interface Deps {
  request: SoakRequest
  senders: Senders
  tally: Tally
  key: string
}

export async function createBox(request: SoakRequest, ttl = SESSION_SECONDS): Promise<Box> {
  const path = `/api/create-session?ttl=${ttl}`
  const { json } = await request(path, { method: 'POST' })
  const { email, token, expires_at_iso } = json as TestMailbox & { expires_at_iso: string }
  return { email, token, expiresAt: Date.parse(expires_at_iso), usedId: 0 }
}

/** The messages of a mailbox; undefined if it has ended. */
export async function listBox(request: SoakRequest, box: Box, query: string) {
  const { json, ms } = await request(`/api/check-mail?${query}`, asOwner(box))
  return { ms, messages: (json as { messages: { id: number }[] } | undefined)?.messages }
}

export async function endBox(request: SoakRequest, box: Box): Promise<void> {
  const isOver = mayHaveEnded({ ...box })
  box.isEnding = true
  await request('/api/delete-session', {
    ...{ method: 'POST', token: box.token },
    allows: (status, again) => status === 401 && (again || isOver()),
  })
}

/** To be called before a request: an extension meanwhile may come too late for it. */
function mayHaveEnded(box: Box): () => boolean {
  const { expiresAt } = box
  return () => box.isEnding === true || Date.now() >= expiresAt - ROUNDING_MS
}

function asOwner(box: Box): Required<Pick<RequestOptions, 'token' | 'allows'>> {
  const isOver = mayHaveEnded(box)
  return { token: box.token, allows: (status) => status === 401 && isOver() }
}

export function openMailboxes({ request, senders, tally, key }: Deps) {
  const mails = SIZES.map(([share, bytes]) => [share, { raw: mailText(bytes) }] as const)
  let boxes: Box[] = []
  let recorded: Recorded | undefined

  const anyOf = <T>(list: readonly T[]): T | undefined =>
    list[Math.floor(Math.random() * list.length)]
  const poolAddress = () => `p${Math.floor(Math.random() * POOL_ADDRESSES)}@pool.test`

  async function sendRecorded({ lines }: Recorded, { email, token }: TestMailbox) {
    const make = () => {
      const { uuid, raw, sha256 } = uniqueMail(200 + Math.floor(Math.random() * 8_000))
      const line = { uuid, sha256, token, isAcknowledged: false }
      lines.push(line)
      return { raw, line }
    }
    const { line } = await senders.send(email, make)
    line.isAcknowledged = true
    return true
  }

  /** A message that is not used yet, and its mailbox. */
  function takeMessage() {
    const box = boxes.find(({ newest }) => newest !== undefined)
    if (box?.newest === undefined) return undefined
    box.usedId = box.newest
    box.newest = undefined
    return { box, id: box.usedId }
  }

  return {
    /** Each returns whether there was something to do. */
    operations: {
      async mails() {
        const lasting = anyOf(recorded?.boxes ?? [])
        if (recorded && lasting && Math.random() < TO_RECORDED)
          return await sendRecorded(recorded, lasting)
        const box = Math.random() < TO_POOL ? undefined : anyOf(boxes)
        const mail = await (box
          ? senders.send(box.email, () => pick(mails), mayHaveEnded(box))
          : senders.send(poolAddress(), () => pick(mails)))
        return mail.isAccepted
      },
      async polls() {
        const box = anyOf(boxes)
        if (!box) return false
        const { ms, messages } = await listBox(request, box, 'limit=20')
        if (!messages) return false
        tally.took('poll', ms)
        const newest = messages[0]?.id ?? 0
        if (newest > box.usedId) box.newest = newest
        return true
      },
      async reads() {
        const message = takeMessage()
        if (!message) return false
        const path = `/api/read-mail?id=${message.id}`
        return (await request(path, asOwner(message.box))).json !== undefined
      },
      async deletions() {
        const message = takeMessage()
        if (!message) return false
        const { token, allows } = asOwner(message.box)
        const { json } = await request(`/api/delete-mail?id=${message.id}`, {
          ...{ method: 'POST', token },
          allows: (status, again) => allows(status, again) || (again && status === 404),
        })
        return json !== undefined
      },
      async sessions() {
        boxes = boxes.filter(({ expiresAt }) => expiresAt > Date.now())
        const isEnding = Math.random() < ENDED_EARLY && boxes.length > MIN_SESSIONS
        const ended = isEnding ? anyOf(boxes) : undefined
        boxes = boxes.filter((box) => box !== ended)
        if (ended) await endBox(request, ended)
        boxes.push(await createBox(request))
        return true
      },
      async extensions() {
        const box = anyOf(boxes.filter(({ expiresAt }) => expiresAt > Date.now() + MIN_LEFT_MS))
        if (!box) return false
        const path = `/api/extend-session?ttl=${SESSION_SECONDS}`
        const { json } = await request(path, { ...asOwner(box), method: 'POST' })
        if (json) box.expiresAt = Date.parse((json as { expires_at_iso: string }).expires_at_iso)
        return json !== undefined
      },
      async emails() {
        const { json } = await request(`/emails?to=${poolAddress()}`, { token: key })
        return (json as EmailsElement[]).some(({ emails }) => emails.length > 0)
      },
    },
    /** From now on, unique mails go to these. */
    record(next: Recorded): void {
      recorded = next
    },
  }
}

function pick<T>(all: readonly (readonly [number, T])[]): T {
  let left = Math.random()
  const found = all.find(([share]) => {
    left -= share
    return left < 0
  })
  return (found ?? (all[0] as readonly [number, T]))[1]
}
