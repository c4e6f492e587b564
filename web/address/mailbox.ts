/** One address of this browser and the token that opens it. */
export interface Mailbox {
  email: string
  token: string
  /** By this browser's clock. */
  expiresAt: Date
}

/** So many are kept; who makes more of them loses sight of the oldest. */
export const MOST_KEPT = 20

/** What a list is cut by. */
interface Bounds {
  now: number
  /** For so many seconds after its end the server keeps an address for who had it. */
  cooldown: number
}

/** Who comes back soon learns that it is over, also where it cannot be had back. */
const SHORTEST_COOLDOWN = 86_400

export function isOver({ expiresAt }: Mailbox, now: number): boolean {
  return expiresAt.getTime() <= now
}

/**
 * The `ttl` that adds one life to what is left, as far as the site allows. Undefined when nothing can be added: a shorter
 * life than what is left, as of an address with a key, would take time away.
 */
export function extensionSeconds(
  { expiresAt }: Mailbox,
  now: number,
  { life, longest }: { life: number; longest: number },
): number | undefined {
  const left = Math.max(Math.ceil((expiresAt.getTime() - now) / 1000), 0)
  const seconds = Math.min(left + life, longest)
  return seconds > left ? seconds : undefined
}

/** What was kept, the newest first. Whatever else stands there is no mailbox of ours, and is passed over. */
export function parseMailboxes(text: string | undefined, bounds: Bounds): Mailbox[] {
  let found: unknown
  try {
    found = JSON.parse(text ?? '[]')
  } catch {
    return []
  }
  if (!Array.isArray(found)) return []
  return bounded(
    found.flatMap((entry) => mailboxOf(entry) ?? []),
    bounds,
  )
}

/** Email, token and end: nothing else is ever kept. */
export function writeMailboxes(mailboxes: readonly Mailbox[]): string {
  return JSON.stringify(
    mailboxes.map(({ email, token, expiresAt }) => ({ email, token, expires: expiresAt })),
  )
}

/** With this one at the top, or in its old place when it was there. */
export function withMailbox(
  mailboxes: readonly Mailbox[],
  one: Mailbox,
  bounds: Bounds,
): Mailbox[] {
  const place = mailboxes.findIndex(({ email }) => email === one.email)
  return bounded(place < 0 ? [one, ...mailboxes] : mailboxes.with(place, one), bounds)
}

/**
 * The end by this browser's clock, so that wrong clocks still count down right. One that is right to the minute is left
 * alone: the server tells its time in whole seconds.
 */
export function endHere(end: Date, serverNow: Date, now: Date): Date {
  const ahead = now.getTime() - serverNow.getTime()
  return Math.abs(ahead) < 60_000 || Number.isNaN(ahead) ? end : new Date(end.getTime() + ahead)
}

/** Those that are over go first, then the oldest. */
function bounded(mailboxes: readonly Mailbox[], { now, cooldown }: Bounds): Mailbox[] {
  const keptMs = Math.max(cooldown, SHORTEST_COOLDOWN) * 1000
  const known = mailboxes.filter(
    (one, place) =>
      one.expiresAt.getTime() + keptMs > now &&
      mailboxes.findIndex(({ email }) => email === one.email) === place,
  )
  const live = known.filter((one) => !isOver(one, now)).slice(0, MOST_KEPT)
  const over = known.filter((one) => isOver(one, now)).slice(0, MOST_KEPT - live.length)
  return known.filter((one) => live.includes(one) || over.includes(one))
}

function mailboxOf(entry: unknown): Mailbox | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { email, token, expires } = entry as Record<string, unknown>
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email)) return undefined
  if (typeof token !== 'string' || !/^[\w-]{1,128}$/.test(token)) return undefined
  const expiresAt = new Date(typeof expires === 'string' ? expires : Number.NaN)
  return Number.isNaN(expiresAt.getTime()) ? undefined : { email, token, expiresAt }
}
