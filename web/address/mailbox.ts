import { parseJson } from '../site/storage.ts'

/** An address of this browser, with its session token. */
export interface Mailbox {
  email: string
  token: string
  /** By the clock of the server. */
  expiresAt: Date
  /** Chosen by the user. */
  label?: string
}

/** Live mailboxes per browser. Expired ones are listed as long as there is room. */
export const MAX_LIVE = 100

interface Bounds {
  /** By the clock of the server, like all times here. */
  now: number
  /** In seconds after the expiry: until then the last owner can restore the address. */
  cooldown: number
}

/** An expired address is listed for at least a day, even if it cannot be restored. */
const MIN_COOLDOWN = 86_400

export function isExpired({ expiresAt }: Mailbox, now: number): boolean {
  return expiresAt.getTime() <= now
}

/** The API gives the last second of the year 9999 as the expiry of an address that stays. */
export function isPermanent({ expiresAt }: Mailbox): boolean {
  return expiresAt.getUTCFullYear() >= 9999
}

/**
 * The `ttl` that adds one lifetime to the time left, up to the limit of the site. Undefined if that would not add any: an
 * address created with a key may live longer than that limit.
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

/** Depends on what was requested, because the clock of the device may be wrong. */
export function extensionText(requested: number, gained: number, { longest }: { longest: number }) {
  if (requested < longest) return 'address_extended'
  return gained < 60 ? 'address_at_max' : 'address_extended_max'
}

export function isListFull(mailboxes: readonly Mailbox[], now: number): boolean {
  return mailboxes.filter((one) => !isExpired(one, now)).length >= MAX_LIVE
}

/** One mailbox as the browser stores it. `since`: when it was added, in milliseconds. */
export interface StoredMailbox {
  mailbox: Mailbox
  since: number
}

export function parseStored(text: string | undefined): StoredMailbox | undefined {
  const entry = parseJson(text)
  const mailbox = parseMailbox(entry)
  if (!mailbox) return undefined
  const { since } = entry as { since?: unknown }
  return { mailbox, since: typeof since === 'number' && Number.isFinite(since) ? since : 0 }
}

export function formatStored({
  mailbox: { email, token, expiresAt, label },
  since,
}: StoredMailbox): string {
  return JSON.stringify({ email, token, expires: expiresAt, since, label })
}

/** The list of version 0.1, newest first. */
export function parseOldList(text: string | undefined): Mailbox[] {
  const list = parseJson(text)
  return Array.isArray(list) ? list.flatMap((entry) => parseMailbox(entry) ?? []) : []
}

/** Adds a mailbox at the top or replaces it in place. */
export function withMailbox(mailboxes: readonly Mailbox[], mailbox: Mailbox): Mailbox[] {
  const index = mailboxes.findIndex(({ email }) => email === mailbox.email)
  return index < 0 ? [mailbox, ...mailboxes] : mailboxes.with(index, mailbox)
}

/**
 * How far this device is ahead of the server, in milliseconds; undefined if the server did not tell its time. Differences
 * below a minute are ignored: the Date header has whole seconds.
 */
export function clockAhead(serverNow: Date, now: Date): number | undefined {
  const ahead = now.getTime() - serverNow.getTime()
  if (Number.isNaN(ahead)) return undefined
  return Math.abs(ahead) < 60_000 ? 0 : ahead
}

/** All live mailboxes, however many, and the newest of the expired ones as long as there is room. */
export function retained(mailboxes: readonly Mailbox[], { now, cooldown }: Bounds): Mailbox[] {
  const retentionMs = Math.max(cooldown, MIN_COOLDOWN) * 1000
  const live = mailboxes.filter((one) => !isExpired(one, now))
  const expired = mailboxes
    .filter((one) => isExpired(one, now) && one.expiresAt.getTime() + retentionMs > now)
    .slice(0, Math.max(0, MAX_LIVE - live.length))
  return mailboxes.filter((one) => live.includes(one) || expired.includes(one))
}

function parseMailbox(entry: unknown): Mailbox | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { email, token, expires, label } = entry as Record<string, unknown>
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email)) return undefined
  if (typeof token !== 'string' || !/^[\w-]{1,128}$/.test(token)) return undefined
  const expiresAt = new Date(typeof expires === 'string' ? expires : Number.NaN)
  if (Number.isNaN(expiresAt.getTime())) return undefined
  return { email, token, expiresAt, ...(typeof label === 'string' && { label }) }
}

/** Why the server would reject the part before the @. */
type NameError = 'characters' | 'start' | 'end' | 'double' | 'long'

const MAX_NAME_LENGTH = 64

/** As the server does; spaces around it come from pasting. */
export function normaliseName(typed: string): string {
  return typed.trim().toLowerCase()
}

/** Undefined for a valid name, and for an empty one: then the address is random. */
export function nameError(typed: string): NameError | undefined {
  // Before lower-casing: the server rejects non-ASCII letters that lower-case to ASCII (the Kelvin sign).
  const name = typed.trim()
  if (/[^a-z0-9._-]/i.test(name) || /[^\x20-\x7e]/.test(name)) return 'characters'
  if (/^[._-]/.test(name)) return 'start'
  if (/[._-]{2}/.test(name)) return 'double'
  if (name.length > MAX_NAME_LENGTH) return 'long'
  return /[._-]$/.test(name) ? 'end' : undefined
}
