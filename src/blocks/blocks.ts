import { parseHost } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import { cleanLine } from '../base/text.ts'
import { parseDuration, timestampFields } from '../base/time.ts'
import type { MailStore } from '../mail/store.ts'
import {
  type Block,
  type BlockEntry,
  type BlockKind,
  blockKind,
  MAX_BLOCK_NOTE,
  type OwnEntries,
  parseBlockEntry,
} from './rules.ts'
import type { BlockStore } from './store.ts'

// Operations of the operator on the block list. SMTP threads on all nodes read the changes within half a second, see
// open-block-list.ts.

export interface BlockDeps {
  store: BlockStore & Pick<MailStore, 'listDomains'>
  /** Mail domains are added to them. */
  own: OwnEntries
  now(): Date
}

export interface ListedBlock extends Block {
  kind: BlockKind
}

interface ListOptions {
  limit: number
  /** The `number` of the last block of the previous page. */
  before?: number | undefined
  /** Only entries that contain this text. */
  text?: string | undefined
}

/** A page of the live blocks, last changed first, and how many there are in all. */
export async function listBlocks(
  { store, now }: BlockDeps,
  { limit, before, text }: ListOptions,
): Promise<{ blocks: ListedBlock[]; total: number; next: number | undefined }> {
  const time = now()
  // One more than returned, to know whether there are more.
  const query = { now: time, limit: limit + 1, before, text: text?.trim().toLowerCase() }
  const [found, total] = [await store.listBlocks(query), await store.countBlocks(time)]
  const blocks = found.slice(0, limit).map((block) => ({ ...block, kind: blockKind(block.entry) }))
  const next = found.length > limit ? blocks.at(-1)?.number : undefined
  return { blocks, total, next }
}

export interface BlockOptions {
  note?: string | undefined
  /** Such as 12h or 30d; undefined: until it is removed. */
  ttl?: string | undefined
  /** Also entries that are too wide, private or of this installation. */
  force?: boolean | undefined
}

const MAX_SECONDS = 315_360_000 // ten years

/** Adds a block, or replaces the note and end of an existing one. Throws `invalid_parameter`, or one of `DANGER_CODES`. */
export async function addBlock(
  deps: BlockDeps,
  text: string,
  { force = false, ...options }: BlockOptions = {},
): Promise<{ entry: BlockEntry; kind: BlockKind; isNew: boolean }> {
  const entry = parseBlockEntry(text, { force, own: await ownEntries(deps) })
  const added = await addEntries(deps, [entry], options)
  return { entry, kind: blockKind(entry), isNew: added === 1 }
}

/** Removes a block. False if there is none. Throws `invalid_parameter`. */
export async function removeBlock({ store, now }: BlockDeps, text: string): Promise<boolean> {
  return (await store.removeBlocks([parseBlockEntry(text, { force: true })], now())) === 1
}

export interface InstallationSettings {
  smtp: { hostname: string; relays: readonly string[]; proxyFrom: readonly string[] }
  mailOut: { from: string }
}

/** What the settings name, and the addresses of this machine. */
export function installationEntries(
  { smtp, mailOut }: InstallationSettings,
  addresses: readonly string[],
): OwnEntries {
  const sender = parseHost(/@([^\s<>@]+)>?\s*$/.exec(mailOut.from)?.[1] ?? '')
  return {
    networks: [...smtp.relays, ...smtp.proxyFrom, ...addresses],
    domains: [smtp.hostname, ...(sender ? [sender] : [])],
  }
}

/** With the mail domains. */
export async function ownEntries({ store, own }: Pick<BlockDeps, 'store' | 'own'>) {
  const domains = (await store.listDomains()).map(({ name }) => name)
  return { ...own, domains: [...own.domains, ...domains] }
}

/** One entry per line; `#` or `;` starts a comment. Without duplicates. `invalid` says what is wrong with which line. */
export function parseBlockLines(
  text: string,
  options: { force?: boolean | undefined; own?: OwnEntries } = {},
) {
  const entries = new Set<BlockEntry>()
  const invalid: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const content = line.replace(/(?:^|\s)[#;].*/, '').trim()
    if (content === '') continue
    try {
      entries.add(parseBlockEntry(content, options))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      invalid.push(`Line ${index + 1}: ${error.message}`)
    }
  }
  return { entries: [...entries], invalid }
}

// Small enough not to delay mail that waits for the commit.
const BATCH_ENTRIES = 500

interface ImportOptions extends Omit<BlockOptions, 'force'> {
  report(done: number): void
}

/** Adds many, in small commits between the writes of the service. Returns how many are new. */
export async function importBlocks(
  deps: BlockDeps,
  entries: readonly BlockEntry[],
  { report, ...options }: ImportOptions,
): Promise<number> {
  return await inBatches(entries, report, (batch) => addEntries(deps, batch, options))
}

/** Removes many in the same way. Returns how many there were. */
export async function removeBlocks(
  { store, now }: BlockDeps,
  entries: readonly BlockEntry[],
  report: (done: number) => void,
): Promise<number> {
  return await inBatches(entries, report, (batch) => store.removeBlocks(batch, now()))
}

async function inBatches(
  entries: readonly BlockEntry[],
  report: (done: number) => void,
  change: (batch: readonly BlockEntry[]) => Promise<number>,
): Promise<number> {
  let changed = 0
  for (let start = 0; start < entries.length; start += BATCH_ENTRIES) {
    const batch = entries.slice(start, start + BATCH_ENTRIES)
    changed += await change(batch)
    report(start + batch.length)
  }
  return changed
}

async function addEntries(
  { store, now }: BlockDeps,
  entries: readonly BlockEntry[],
  options: Omit<BlockOptions, 'force'>,
): Promise<number> {
  const time = now()
  const note = cleanLine(options.note ?? '', MAX_BLOCK_NOTE)
  return await store.addBlocks({ entries, note, expiresAt: endOf(options, time), now: time })
}

function endOf({ ttl }: BlockOptions, now: Date): Date | undefined {
  if (ttl === undefined) return undefined
  const seconds = parseDuration(ttl) ?? 0
  if (seconds > 0 && seconds <= MAX_SECONDS) return new Date(now.getTime() + seconds * 1000)
  throw new Problem(
    'invalid_parameter',
    'ttl: must be up to ten years, such as 90s, 15m, 24h or 30d.',
  )
}

export function blockJson({ entry, kind, note, createdAt, expiresAt, number }: ListedBlock) {
  return {
    entry,
    kind,
    note,
    ...timestampFields('created_at', createdAt),
    ...timestampFields('expires_at', expiresAt),
    number,
  }
}
