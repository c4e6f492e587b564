import { randomBytes } from 'node:crypto'
import { type Address, parseAddress, parseHost } from '../../../src/base/address.ts'
import { addConfiguredAccounts } from '../../../src/gmail/accounts.ts'
import { openAliasAccounts } from '../../../src/gmail/aliases.ts'
import type { AccountHealth, ConfiguredAccount } from '../../../src/gmail/rules.ts'
import { NO_MAIL_LOG } from '../../../src/mail/log/mail-log.ts'
import type { MailboxId } from '../../../src/mail/rules/session.ts'
import { createSession } from '../../../src/mail/sessions/create-session.ts'
import { openSqliteTestMail } from '../store/stores.ts'

export type GmailFixture = Awaited<ReturnType<typeof openGmailFixture>>

export const START = new Date('2026-03-01T12:00:00Z')

/** A store with box.test and these accounts, all healthy, and a manual clock. */
export async function openGmailFixture(...file: ConfiguredAccount[]) {
  const scratch = await openSqliteTestMail({
    mailbox: { maxMessages: 100, maxBytes: 1_000_000 },
    poolMaxBytes: 1_000_000,
    ownMaxBytes: 1_000_000,
    maxMailBytes: 1_000_000,
  })
  const { store, other } = scratch
  const name = parseHost('box.test')
  if (!name) throw new Error('box.test is a host')
  await store.addDomain({ name, sessions: true, reader: true, ttlSeconds: undefined })
  const clock = { now: START }
  const woken: MailboxId[] = []
  const deps = withAliases({
    findMailBlock: () => undefined,
    mailLog: NO_MAIL_LOG,
    store,
    gmailAccounts: file,
    lifetimes: { sessionSeconds: 3_600, anonymousMaxSeconds: 86_400, maxSessionSeconds: 86_400 },
    cooldownMs: 86_400_000,
    ownHosts: [],
    now: () => clock.now,
    randomBytes: (count: number): Uint8Array => randomBytes(count),
    bus: {
      wake: (mailbox: MailboxId) => void woken.push(mailbox),
      subscribe: () => () => {},
    },
  })
  await addConfiguredAccounts(deps, file)
  const idOf = async (email: string) => {
    const known = await store.listAccounts(clock.now)
    const id = known.find((account) => account.email === email)?.id
    if (id === undefined) throw new Error(`${email} is not known`)
    return id
  }
  const report = async (email: string, health: AccountHealth, reason = '') =>
    store.setAccountHealth(await idOf(email), health, reason)
  for (const { email } of file) await report(email, 'ok')

  return {
    store,
    other,
    deps,
    woken,
    idOf,
    report,
    pass(ms: number) {
      clock.now = new Date(clock.now.getTime() + ms)
    },
    /** A session with an alias of the account, with this tag. */
    alias: async (email: string, prefix?: string, keyId?: string) =>
      createSession(deps, { useGmail: true, gmailId: await idOf(email), prefix, keyId }),
    close: scratch.close,
  }
}

/** With the accounts of these dependencies. */
export function withAliases<D extends Parameters<typeof openAliasAccounts>[0]>(deps: D) {
  return { ...deps, aliasAccounts: openAliasAccounts(deps) }
}

export function rules(text: string, more: Partial<ConfiguredAccount> = {}): ConfiguredAccount {
  return { email: address(text), dots: false, masked: false, active: true, ...more }
}

export function address(text: string): Address {
  const parsed = parseAddress(text)
  if (!parsed) throw new Error(`${text} is no address`)
  return parsed
}
