/** One address of this browser and the token that opens it. */
export interface Mailbox {
  email: string
  token: string
  /** By this browser's clock. */
  expiresAt: Date
}

/** Past so many live ones no more are created here. Those that are over are kept as long as there is room. */
export const MAX_LIVE = 100

/** What a list is cut by. */
interface Bounds {
  now: number
  /** For so many seconds after its end the server keeps an address for who had it. */
  cooldown: number
}

/** Who comes back soon learns that it is over, also where it cannot be had back. */
const MIN_COOLDOWN = 86_400

export function isExpired({ expiresAt }: Mailbox, now: number): boolean {
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

export function isListFull(mailboxes: readonly Mailbox[], now: number): boolean {
  return mailboxes.filter((one) => !isExpired(one, now)).length >= MAX_LIVE
}

/** One mailbox as the browser stores it: nothing else is ever kept. `since` is when it came, in milliseconds. */
export interface StoredMailbox {
  mailbox: Mailbox
  since: number
}

/** Undefined for what is not a mailbox of ours. */
export function parseStored(text: string | undefined): StoredMailbox | undefined {
  const entry = parseJson(text)
  const mailbox = parseMailbox(entry)
  if (!mailbox) return undefined
  const { since } = entry as { since?: unknown }
  return { mailbox, since: typeof since === 'number' && Number.isFinite(since) ? since : 0 }
}

export function formatStored({
  mailbox: { email, token, expiresAt },
  since,
}: StoredMailbox): string {
  return JSON.stringify({ email, token, expires: expiresAt, since })
}

/** The one list of version 0.1, the newest first. */
export function parseOldList(text: string | undefined): Mailbox[] {
  const found = parseJson(text)
  return Array.isArray(found) ? found.flatMap((entry) => parseMailbox(entry) ?? []) : []
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}

/** With this one at the top, or in its old place when it was there. */
export function withMailbox(mailboxes: readonly Mailbox[], one: Mailbox): Mailbox[] {
  const place = mailboxes.findIndex(({ email }) => email === one.email)
  return place < 0 ? [one, ...mailboxes] : mailboxes.with(place, one)
}

/**
 * The end by this browser's clock, so that wrong clocks still count down right. One that is right to the minute is left
 * alone: the server tells its time in whole seconds.
 */
export function localExpiry(end: Date, serverNow: Date, now: Date): Date {
  const ahead = now.getTime() - serverNow.getTime()
  return Math.abs(ahead) < 60_000 || Number.isNaN(ahead) ? end : new Date(end.getTime() + ahead)
}

/** All that live, however many, and of those that are over the newest for which there is room. */
export function retained(mailboxes: readonly Mailbox[], { now, cooldown }: Bounds): Mailbox[] {
  const retentionMs = Math.max(cooldown, MIN_COOLDOWN) * 1000
  const live = mailboxes.filter((one) => !isExpired(one, now))
  const over = mailboxes
    .filter((one) => isExpired(one, now) && one.expiresAt.getTime() + retentionMs > now)
    .slice(0, Math.max(0, MAX_LIVE - live.length))
  return mailboxes.filter((one) => live.includes(one) || over.includes(one))
}

function parseMailbox(entry: unknown): Mailbox | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { email, token, expires } = entry as Record<string, unknown>
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email)) return undefined
  if (typeof token !== 'string' || !/^[\w-]{1,128}$/.test(token)) return undefined
  const expiresAt = new Date(typeof expires === 'string' ? expires : Number.NaN)
  return Number.isNaN(expiresAt.getTime()) ? undefined : { email, token, expiresAt }
}

/** Why the part before the @ would be refused, as far as we know before asking. */
type NameError = 'characters' | 'start' | 'end' | 'double' | 'long'

const MAX_NAME_LENGTH = 64

/** The server lower-cases it: show at once what will be. Blanks around it come from pasting. */
export function normaliseName(typed: string): string {
  return typed.trim().toLowerCase()
}

/** Undefined for a good name, and for none: then the address is random. */
export function nameError(typed: string): NameError | undefined {
  // Before lower-casing: letters outside ASCII that lower-case into it (the Kelvin sign) are refused by the server.
  const name = typed.trim()
  if (/[^a-z0-9._-]/i.test(name) || /[^\x20-\x7e]/.test(name)) return 'characters'
  if (/^[._-]/.test(name)) return 'start'
  if (/[._-]{2}/.test(name)) return 'double'
  if (name.length > MAX_NAME_LENGTH) return 'long'
  return /[._-]$/.test(name) ? 'end' : undefined
}

/** A name that only lacks its next letter: nobody is told of a fault while still typing. */
export function isUnfinished(fault: NameError | undefined): boolean {
  return fault === 'end'
}
