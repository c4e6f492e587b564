import type { ApiKey } from '../core/key.ts'
import type { Plan } from '../core/plan.ts'
import { printable } from '../core/text.ts'
import { timestampFields, utcTimestamp } from '../core/time.ts'
import {
  findKeys,
  issueKey,
  type KeyAdminDeps,
  type KeyRequest,
  rollKey,
} from '../service/keys/keys.ts'
import { count, endShown, keyJson, keyLines, keyTable } from './key-view.ts'
import { type Print, Refused, table } from './output.ts'

/** What `mayfly key issue` is to make; a wrong wish is refused before anything is opened. */
export function keyWish(
  plans: readonly Plan[],
  { plan: id, label = '' }: { plan: string; label?: string },
): KeyRequest {
  const plan = plans.find((plan) => plan.id === id.toLowerCase())
  if (plan) return { plan, label: labelOf(label), mode: 'live' }
  const known = plans.map(({ id }) => id).join(', ')
  throw new Refused(`There is no plan ${JSON.stringify(id)}. The plans are: ${known}`, 2)
}

/** `mayfly key issue`: the only time that the key is shown. */
export async function issue(
  book: KeyAdminDeps,
  wish: KeyRequest,
  { json, url }: { json?: boolean; url: string },
  print: Print,
): Promise<void> {
  const { plan } = wish
  const { key, secret } = await issueKey(book, wish)
  if (json) {
    print(JSON.stringify(secretJson(key, secret)))
    return
  }
  const perDay = plan.perDay === undefined ? '' : `, ${count(plan.perDay)} a day`
  const rows = [
    ['Key', secret],
    ['', 'Shown this once: only its hash is kept.'],
    ['Id', key.id],
    ['Plan', `${printable(plan.name)}: ${count(plan.requests)} requests${perDay}`],
    ...(key.label === '' ? [] : [['Label', printable(key.label)]]),
    ['Ends', endShown(key)],
    ['Try', `curl -s -H 'APIKey: ${secret}' ${url}/emails`],
  ]
  for (const line of table(rows)) print(line)
}

/** `mayfly key list` */
export async function list(
  book: KeyAdminDeps,
  { json }: { json?: boolean },
  print: Print,
): Promise<void> {
  const now = book.now()
  const keys = await book.store.listKeys(now)
  if (json) print(JSON.stringify(keys.map(keyJson), null, 2))
  else if (keys.length === 0) print('No keys yet. Make one with: mayfly key issue --plan starter')
  else for (const line of keyTable(keys, now)) print(line)
}

/** `mayfly key show` */
export async function show(
  book: KeyAdminDeps,
  name: string,
  { json }: { json?: boolean },
  print: Print,
): Promise<void> {
  const key = await theKey(book, name)
  if (json) print(JSON.stringify(keyJson(key), null, 2))
  else for (const line of keyLines(key, book.now())) print(line)
}

/** `mayfly key roll`: a new secret; the former one lives on for a day. */
export async function roll(
  book: KeyAdminDeps,
  name: string,
  { json }: { json?: boolean },
  print: Print,
): Promise<void> {
  const key = await theKey(book, name)
  const rolled = await rollKey(book, key)
  if (!rolled) throw new Refused(`${key.prefix} is revoked: it has no new secret. Issue a new key.`)
  const { secret, formerUntil } = rolled
  if (json) {
    print(
      JSON.stringify({
        ...secretJson(key, secret),
        ...timestampFields('former_until', formerUntil),
      }),
    )
    return
  }
  const rows = [
    ['Key', secret],
    ['', 'Shown this once: only its hash is kept.'],
    ['Former', `opens the same until ${utcTimestamp(formerUntil)}; both count as one key`],
  ]
  for (const line of table(rows)) print(line)
}

/** `mayfly key revoke` */
export async function revoke(book: KeyAdminDeps, name: string, print: Print): Promise<void> {
  const key = await theKey(book, name)
  await book.store.revokeKey(key.id)
  print(`${key.prefix} (${key.id}) is revoked: it opens nothing from now on.`)
}

/** `mayfly key label` */
export async function label(
  book: KeyAdminDeps,
  { name, text }: { name: string; text: string },
  print: Print,
): Promise<void> {
  const label = labelOf(text)
  const key = await theKey(book, name)
  await book.store.labelKey(key.id, label)
  print(`${key.prefix} is labelled ${JSON.stringify(label)} now.`)
}

/** The one key that is meant by an id, by what it begins with, or by all of it. */
export async function theKey(book: KeyAdminDeps, name: string): Promise<ApiKey> {
  const [key, ...others] = await findKeys(book, name)
  if (!key) throw new Refused(`No key is ${quoted(name)}. See: mayfly key list`)
  if (others.length === 0) return key
  const ids = [key, ...others].map(({ id }) => id).join(', ')
  throw new Refused(`Several keys begin with ${quoted(name)}. Say which by its id: ${ids}`)
}

// As long as what keys and ids begin with: a whole key that somebody pasted is not written out again.
const QUOTED = 12

function quoted(name: string): string {
  const shown = name.startsWith('key_') ? name.slice(0, 2 * QUOTED + 2) : name.slice(0, QUOTED)
  return JSON.stringify(printable(shown)) + (shown.length < name.length ? '…' : '')
}

const MAX_LABEL = 100

function labelOf(text: string): string {
  const label = text.trim()
  if (label.length <= MAX_LABEL && printable(label) === label) return label
  throw new Refused(`A label is one line of at most ${MAX_LABEL} characters.`, 2)
}

function secretJson(key: ApiKey, secret: string) {
  return {
    id: key.id,
    key: secret,
    prefix: key.prefix,
    plan: key.plan,
    label: key.label,
    requests: key.maxRequests,
    per_day: key.maxPerDay ?? null,
    ...timestampFields('expires_at', key.expiresAt),
  }
}
