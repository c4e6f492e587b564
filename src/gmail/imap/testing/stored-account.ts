import { openSqliteTestMail } from '../../../../test/kit/store/stores.ts'
import { waitUntil } from '../../../../test/kit/wait-until.ts'
import { type Address, parseAddress } from '../../../base/address.ts'
import type { Bus } from '../../../bus/bus.ts'
import { NO_MAIL_LOG } from '../../../mail/log/mail-log.ts'
import type { MailboxId } from '../../../mail/rules/session.ts'
import { NO_RULES } from '../../../shared/address-rules.ts'
import type { Store } from '../../../store/store.ts'
import { accountMailDeps } from '../../fetch-mail.ts'
import type { AccountHealth } from '../../rules.ts'
import { openAccount } from '../account.ts'
import type { AccountOptions, ImapDeps } from '../options.ts'
import { ANN, testAccountAt } from './fixture.ts'

export type StoredAccount = Awaited<ReturnType<typeof openStoredAccount>>

const HOUR = 3_600_000

/** An account with a real store, small mailboxes and a manual clock. */
export async function openStoredAccount(maxMessages: number) {
  const scratch = await openSqliteTestMail({
    mailbox: { maxMessages, maxBytes: 1_000_000 },
    poolMaxBytes: 1_000_000,
    ownMaxBytes: 1_000_000,
    maxMailBytes: 10_000_000,
  })
  const { store } = scratch
  await store.addAccount(ANN)
  const clock = { ms: Date.now() }
  const now = () => new Date(clock.ms)
  const accountId = (await store.listAccounts(now()))[0]?.id ?? 0
  const { deps, pollRequests, reports } = storedDeps({ store, now }, accountId)
  let open: { close(): Promise<void> } | undefined

  const bodies = (mailbox: MailboxId) => storedBodies(store, mailbox)

  return {
    store,
    accountId,
    now,
    bodies,
    advanceClock(ms: number) {
      clock.ms += ms
    },
    requestPoll() {
      for (const poll of pollRequests) poll()
    },
    async alias(text: string, rules = NO_RULES): Promise<MailboxId> {
      const session = await store.createSession({
        address: parseAddress(text) as Address,
        tokenHash: text,
        keyId: undefined,
        accountId,
        createdAt: now(),
        expiresAt: new Date(clock.ms + 24 * HOUR),
        cooldownMs: 24 * HOUR,
        rules,
      })
      if (!session) throw new Error(`${text} is taken`)
      return session.id
    },
    async deleteOldest(mailbox: MailboxId): Promise<void> {
      const oldest = (await store.listMessageIds(mailbox)).at(-1) ?? 0
      const { messages } = await store.deleteMessages(mailbox, [oldest])
      if (messages === 0) throw new Error('nothing to delete')
    },
    /** A second call simulates a restart. */
    async connect(port: number, changes: Partial<AccountOptions> = {}) {
      await open?.close()
      reports.length = 0
      open = openAccount(deps, testAccountAt(port, changes))
      await waitUntil(() => reports.at(-1) === 'ok')
    },
    untilBodies: (mailbox: MailboxId, expected: readonly string[]) =>
      waitUntil(async () => (await bodies(mailbox)).join() === expected.join()),
    async close() {
      await open?.close()
      await scratch.close()
    },
  }
}

function storedDeps({ store, now }: { store: Store; now(): Date }, accountId: number) {
  const pollRequests = new Set<() => void>()
  const reports: AccountHealth[] = []
  const bus: Pick<Bus, 'wake' | 'subscribe'> = {
    wake() {},
    subscribe(_, poll) {
      pollRequests.add(poll)
      return () => pollRequests.delete(poll)
    },
  }
  const deps: ImapDeps = {
    ...accountMailDeps(
      { store, bus, now, mailLog: NO_MAIL_LOG, findMailBlock: () => undefined },
      { id: accountId, email: 'joe@gmail.com' as Address },
    ),
    random: () => 0.5,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    async reportHealth(health) {
      reports.push(health)
    },
  }
  return { deps, pollRequests, reports }
}

/** Bodies of the mails in a mailbox, oldest first. */
async function storedBodies(store: Store, mailbox: MailboxId): Promise<string[]> {
  const listed = await store.listMessages(mailbox, { sinceId: 0, limit: 500 })
  const texts = listed.map(async ({ id }) => {
    const message = await store.findMessage(mailbox, id)
    const raw = await store.readRaw(message?.rawId ?? 0)
    const [, body = ''] = Buffer.from(raw?.bytes ?? [])
      .toString()
      .split('\r\n\r\n')
    return body.trim()
  })
  return (await Promise.all(texts)).toReversed()
}
