import type { Address } from '../../../base/address.ts'
import type { Log, LogFacts } from '../../../base/log/log.ts'
import type { MailboxId } from '../../../mail/rules/session.ts'
import type { AccountHealth, FetchedMail, FolderState } from '../../rules.ts'
import type { AccountOptions, ImapDeps } from '../options.ts'
import type { MailLocation } from '../poison-mails.ts'

/** A mail stored for one alias. */
export interface StoredMail extends MailLocation {
  address: Address
  identity: string
  raw: string
  receivedAt: Date
}

interface FixtureState {
  aliases: Set<Address>
  mails: StoredMail[]
  folders: Map<string, FolderState>
  reports: { health: AccountHealth; reason: string }[]
  logLines: string[]
  /** Mails for no alias. */
  unmatched: { count: number }
  /** What the mail log has of mail that stays. */
  left: string[]
  pollRequests: Set<() => void>
}

interface Conditions {
  time: number
  oldest: Date | undefined
  /** Throws to simulate a crash. */
  beforeCommit(mail: FetchedMail): void
  afterCommit(mail: FetchedMail): void
  full: boolean
}

/** ImapDeps in memory: stores each mail once, together with the folder state. */
export function openImapFixture(live: readonly string[]) {
  const fixture: FixtureState = {
    aliases: new Set(live as readonly Address[]),
    mails: [],
    folders: new Map(),
    reports: [],
    logLines: [],
    unmatched: { count: 0 },
    left: [],
    pollRequests: new Set(),
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
  const { mails, reports, pollRequests } = fixture

  /** Checked again after every change. */
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => waiting.push(resolve))
  }

  return {
    ...fixture,
    state,
    deps: depsOf(fixture, state, change),
    requestPoll() {
      for (const poll of pollRequests) poll()
    },
    until,
    /** Resolves with the reported reason. */
    async untilHealth(health: AccountHealth): Promise<string> {
      await until(() => reports.at(-1)?.health === health)
      return reports.at(-1)?.reason ?? ''
    },
    untilMails: (count: number) => until(() => mails.length >= count),
    mailsTo: (address: string) => mails.filter((mail) => mail.address === address),
  }
}

export type ImapFixture = ReturnType<typeof openImapFixture>

function depsOf(fixture: FixtureState, state: Conditions, change: () => void): ImapDeps {
  const { aliases, mails, folders, reports, pollRequests } = fixture
  return {
    async findAliases(addresses) {
      return addresses
        .filter((address) => aliases.has(address))
        .map((address, at) => ({ address, mailbox: (100 + at) as MailboxId }))
    },
    async receive(mail) {
      state.beforeCommit(mail)
      const outcome = store(mail, { aliases, mails, full: state.full })
      folders.set(mail.folder, mail.state)
      change()
      state.afterCommit(mail)
      return outcome
    },
    listDeferred: async () => [],
    deleteDeferred: async () => {},
    readFolder: async (name) => folders.get(name),
    async saveFolder(name, folder) {
      folders.set(name, folder)
      change()
    },
    oldestAlias: async () => state.oldest,
    async reportHealth(health, reason) {
      reports.push({ health, reason })
      change()
    },
    countUnmatched() {
      fixture.unmatched.count += 1
    },
    logLeft(reason, { recipients }) {
      fixture.left.push(`${reason}: ${recipients.map(({ address }) => address)}`)
    },
    onPollRequest(poll) {
      pollRequests.add(poll)
      return () => pollRequests.delete(poll)
    },
    now: () => new Date(state.time),
    random: () => 0.5,
    log: memoryLog(fixture.logLines, change),
  }
}

function store(
  mail: FetchedMail,
  { aliases, mails, full }: Pick<FixtureState, 'aliases' | 'mails'> & { full: boolean },
): Awaited<ReturnType<ImapDeps['receive']>> {
  const { raw, receivedAt, recipients } = mail
  const location = { folder: mail.folder, uidValidity: mail.state.uidValidity, uid: mail.uid }
  const fresh = recipients.filter(
    ({ identity }) =>
      !mails.some((stored) => stored.identity === identity && !isTwin(stored, location)),
  )
  if (fresh.length === 0) return 'known'
  const live = fresh.filter(({ address }) => aliases.has(address))
  if (live.length === 0) return 'no_recipients'
  if (full) return 'full'
  const text = Buffer.from(raw).toString('latin1')
  for (const { address, identity } of live) {
    mails.push({ address, identity, ...location, raw: text, receivedAt })
  }
  return 'stored'
}

/** Identical mails with different UIDs are two mails. */
function isTwin(one: MailLocation, other: MailLocation): boolean {
  const isSameFolder = one.folder === other.folder && one.uidValidity === other.uidValidity
  return isSameFolder && one.uid !== other.uid
}

function memoryLog(lines: string[], change: () => void): Log {
  const write = (level: string) => (facts: LogFacts, message: string) => {
    const shown = Object.entries(facts).map(([key, value]) =>
      value instanceof Error ? `${key}=${value.stack} ${JSON.stringify(value)}` : `${key}=${value}`,
    )
    lines.push([level, message, ...shown].join(' '))
    change()
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

let serial = 0

/** A mail with these fields and a unique Message-ID. */
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

/** An account on a local server, with short delays. */
export function testAccountAt(port: number, changes: Partial<AccountOptions> = {}): AccountOptions {
  return {
    email: ANN,
    host: '127.0.0.1',
    port,
    tls: false,
    login: { password: PASSWORD },
    deleteAfterFetch: false,
    ...changes,
    timing: {
      commandTimeoutMs: 60_000,
      retryMs: { lost: 5, throttled: 40, login: 20, longest: 40 },
      ...changes.timing,
    },
  }
}
