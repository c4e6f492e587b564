import type { Address } from '../../core/address.ts'
import type { AccountHealth, FolderState } from '../../core/gmail.ts'
import type { Log, LogFacts } from '../../core/log.ts'
import type { MailboxId } from '../../core/session.ts'
import type { AccountOptions, FetchedMail, ImapDeps } from '../options.ts'
import type { Place } from '../poison-mails.ts'

/** A mail as the house kept it for one alias. */
export interface Kept extends Place {
  address: Address
  identity: string
  raw: string
  receivedAt: Date
}

interface Memory {
  aliases: Set<Address>
  mails: Kept[]
  folders: Map<string, FolderState>
  reports: { health: AccountHealth; reason: string }[]
  lines: string[]
  looks: Set<() => void>
}

interface Conditions {
  time: number
  oldest: Date | undefined
  /** Throw where the house is to die. */
  beforeCommit(mail: FetchedMail): void
  afterCommit(mail: FetchedMail): void
  full: boolean
}

/** The house behind this door, in memory: it keeps what it is given once, and moves the folder on with it. */
export function openImapFixture(live: readonly string[]) {
  const kept: Memory = {
    aliases: new Set(live as readonly Address[]),
    mails: [],
    folders: new Map(),
    reports: [],
    lines: [],
    looks: new Set(),
  }
  const state: Conditions = {
    time: Date.now(),
    oldest: undefined,
    beforeCommit() {},
    afterCommit() {},
    full: false,
  }
  const waiting: (() => void)[] = []
  const change = () => {
    for (const wake of waiting.splice(0)) wake()
  }
  const { mails, reports, looks } = kept

  /** Resolves when it is true; asked again whenever something has changed here. */
  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => waiting.push(resolve))
  }

  return {
    ...kept,
    state,
    deps: depsOf(kept, state, change),
    /** Asks for a look now. */
    look() {
      for (const look of looks) look()
    },
    until,
    /** With the reason that was told. */
    async untilHealth(health: AccountHealth): Promise<string> {
      await until(() => reports.at(-1)?.health === health)
      return reports.at(-1)?.reason ?? ''
    },
    untilMails: (count: number) => until(() => mails.length >= count),
    to: (address: string) => mails.filter((mail) => mail.address === address),
  }
}

export type ImapFixture = ReturnType<typeof openImapFixture>

function depsOf(kept: Memory, state: Conditions, change: () => void): ImapDeps {
  const { aliases, mails, folders, reports, looks } = kept
  return {
    async aliases(addresses) {
      return addresses
        .filter((address) => aliases.has(address))
        .map((address, at) => ({ address, mailbox: (100 + at) as MailboxId }))
    },
    async receive(mail) {
      state.beforeCommit(mail)
      const outcome = keep(mail, { aliases, mails, full: state.full })
      folders.set(mail.folder, mail.state)
      change()
      state.afterCommit(mail)
      return outcome
    },
    deferred: async () => [],
    deleteDeferred: async () => {},
    folder: async (name) => folders.get(name),
    async passed(name, folder) {
      folders.set(name, folder)
      change()
    },
    oldestAlias: async () => state.oldest,
    async report(health, reason) {
      reports.push({ health, reason })
      change()
    },
    onLook(look) {
      looks.add(look)
      return () => looks.delete(look)
    },
    now: () => new Date(state.time),
    random: () => 0.5,
    log: linesLog(kept.lines, change),
  }
}

function keep(
  mail: FetchedMail,
  { aliases, mails, full }: Pick<Memory, 'aliases' | 'mails'> & { full: boolean },
): Awaited<ReturnType<ImapDeps['receive']>> {
  const { raw, receivedAt, recipients } = mail
  const place = { folder: mail.folder, uidValidity: mail.state.uidValidity, uid: mail.uid }
  const fresh = recipients.filter(
    ({ identity }) => !mails.some((kept) => kept.identity === identity && !isTwin(kept, place)),
  )
  if (fresh.length === 0) return 'known'
  const live = fresh.filter(({ address }) => aliases.has(address))
  if (live.length === 0) return 'nobody'
  if (full) return 'full'
  const text = Buffer.from(raw).toString('latin1')
  for (const { address, identity } of live) {
    mails.push({ address, identity, ...place, raw: text, receivedAt })
  }
  return 'kept'
}

/** Mails that look alike are two when the server numbers them apart. */
function isTwin(one: Place, other: Place): boolean {
  const together = one.folder === other.folder && one.uidValidity === other.uidValidity
  return together && one.uid !== other.uid
}

function linesLog(lines: string[], change: () => void): Log {
  const write = (level: string) => (facts: LogFacts, sentence: string) => {
    const shown = Object.entries(facts).map(([key, value]) =>
      value instanceof Error ? `${key}=${value.stack} ${JSON.stringify(value)}` : `${key}=${value}`,
    )
    lines.push([level, sentence, ...shown].join(' '))
    change()
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

let serial = 0

/** A mail with its own Message-ID, for whoever the fields name. */
export function mailText(fields: Record<string, string>, body = 'hello'): string {
  serial += 1
  const lines = Object.entries({
    ...fields,
    From: 'sender@elsewhere.test',
    Subject: `mail ${serial}`,
    'Message-ID': `<${serial}@elsewhere.test>`,
  }).map(([name, value]) => `${name}: ${value}`)
  return `${lines.join('\r\n')}\r\n\r\n${body}\r\n`
}

export const ANN = 'ann@mail.test' as Address
export const PASSWORD = 'canary-password-7Q'

/** An account on a server of this machine that pauses only as long as a test may take. */
export function testAccountAt(port: number, changes: Partial<AccountOptions> = {}): AccountOptions {
  return {
    email: ANN,
    host: '127.0.0.1',
    port,
    tls: false,
    login: { password: PASSWORD },
    deleteAfterFetch: false,
    ...changes,
    tempo: {
      asked: 1,
      answer: 5_000,
      pause: { lost: 5, throttled: 40, login: 20, longest: 40 },
      ...changes.tempo,
    },
  }
}
