import { randomUUID } from 'node:crypto'
import { setInterval as every } from 'node:timers'
import type { Address } from '../base/address.ts'
import type { Log } from '../base/log/log.ts'
import { openMailer } from '../base/mailer.ts'
import type { MailboxId } from '../mail/rules/session.ts'
import { readHeader, unfold } from '../mime/header-fields.ts'
import type { AliasTrial, Arrival } from './commands.ts'
import { openAccount } from './imap/account.ts'
import type { ImapDeps } from './imap/options.ts'
import type { FetchedMail, FolderState } from './rules.ts'
import type { AccountSetting } from './settings.ts'

interface Options {
  log: Log
  /** How long to wait for the mails. */
  timeoutMs?: number
}

const POLL_MS = 3_000

/** Sends mails to aliases of an account and fetches them the way the service does. Nothing is stored. */
export function openAliasTest(
  {
    mailOut,
    gmailAccounts,
  }: {
    mailOut: Parameters<typeof openMailer>[0]
    gmailAccounts: readonly AccountSetting[]
  },
  { log, timeoutMs = 120_000 }: Options,
): AliasTrial | undefined {
  if (mailOut.url === '') return undefined
  const send = openMailer(mailOut)
  return async (email, aliases) => {
    const account = gmailAccounts.find((one) => one.email === email)
    if (!account) throw new Error(`${email} is not in the accounts file`)
    const subject = `Mayfly test ${randomUUID()}`
    for (const to of aliases) await send({ to, subject, text: 'One of two test mails.' })

    const over = Promise.withResolvers<void>()
    const arrived: Arrival[] = []
    const onArrival = (arrival: Arrival) => {
      arrived.push(arrival)
      if (arrived.length === aliases.length) over.resolve()
    }
    const deps = aliasTestDeps({ aliases, subject, onArrival, failed: over.reject, log })
    const timer = setTimeout(over.resolve, timeoutMs)
    const client = openAccount(deps, { ...account, deleteAfterFetch: false })
    try {
      await over.promise
    } finally {
      clearTimeout(timer)
      await client.close()
    }
    return arrived
  }
}

interface AliasTestRun {
  aliases: readonly Address[]
  /** Subject by which the test mails are recognized. */
  subject: string
  onArrival(arrival: Arrival): void
  failed(reason: Error): void
  log: Log
}

function aliasTestDeps({ aliases, subject, onArrival, failed, log }: AliasTestRun): ImapDeps {
  const begun = new Date()
  const states = new Map<string, FolderState>()
  const seen = new Set<string>()
  return {
    findAliases: async (addresses) =>
      aliases
        .filter((alias) => addresses.includes(alias))
        .map((address, at) => ({ address, mailbox: (at + 1) as MailboxId })),
    async receive({ folder, state, recipients, raw }: FetchedMail) {
      states.set(folder, state)
      const fresh = recipients.filter(({ identity }) => !seen.has(identity))
      if (fresh.length === 0) return 'known'
      for (const { identity } of fresh) seen.add(identity)
      if (!Buffer.from(raw).includes(subject)) return 'no_recipients'
      for (const { address: alias } of fresh) {
        onArrival({ alias, folder, headers: aliasHeaders(raw, alias) })
      }
      return 'stored'
    },
    listDeferred: async () => [],
    deleteDeferred: async () => {},
    readFolder: async (name) => states.get(name),
    async saveFolder(name, state) {
      states.set(name, state)
    },
    oldestAlias: async () => begun,
    async reportHealth(health, reason) {
      if (health === 'failing') failed(new Error(reason))
    },
    onPollRequest(poll) {
      const timer = every(poll, POLL_MS)
      return () => clearInterval(timer)
    },
    now: () => new Date(),
    random: Math.random,
    log,
  }
}

const MATCHED_HEADERS = ['Delivered-To', 'X-Original-To', 'To', 'Cc', 'Received']

/** The header fields used for matching fetched mail that contain this exact address. */
export function aliasHeaders(raw: Uint8Array, alias: Address): string[] {
  const values = new Map<string, string>()
  for (const { key, value } of readHeader(raw).fields) {
    values.set(key, `${values.get(key) ?? ''} ${unfold(value).toLowerCase()}`)
  }
  // Not part of a longer address on either side.
  const whole = new RegExp(`(?<![^\\s<,:;"(])${RegExp.escape(alias)}(?![^\\s>,;")])`)
  return MATCHED_HEADERS.filter((name) => whole.test(values.get(name.toLowerCase()) ?? ''))
}
