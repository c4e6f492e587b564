import { randomBytes } from 'node:crypto'
import { openReceiver } from '../../../test/kit/http/webhook-receiver.ts'
import { inlineParser } from '../../../test/kit/mail/inline-parser.ts'
import { keyRing } from '../../../test/kit/shop/keys.ts'
import { head, newMail, openFixture } from '../../../test/kit/store/fixture.ts'
import type { Postgres } from '../../../test/kit/store/postgres.ts'
import {
  openPostgresTestMail,
  openPostgresTestShop,
} from '../../../test/kit/store/postgres-stores.ts'
import { openSqliteTestMail, openSqliteTestShop } from '../../../test/kit/store/stores.ts'
import { openLargeReads } from '../../mail/read/large-reads.ts'
import { openParseOnce } from '../../mail/read/parse-once.ts'
import { openParsedMail } from '../../mail/read/parsed-mail.ts'
import { openStepScheduler } from '../../mail/read/step-scheduler.ts'
import { POOL } from '../../mail/rules/session.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'
import type { ShopStore, Store } from '../../store/store.ts'
import { openWebhookClient, type WebhookClient } from '../client.ts'
import { deliverNext, type NextStep } from '../deliver.ts'
import { openEvents } from '../event.ts'
import { pauseReason, type Webhook } from '../rules.ts'

const LIMITS = {
  mailbox: { maxMessages: 3_000, maxBytes: 1_000_000 },
  poolMaxBytes: 1_000_000,
  ownMaxBytes: 1_000_000,
  maxMailBytes: 100_000,
}

export type WebhookFixture = Awaited<ReturnType<typeof openWebhookFixture>>

/** Real stores, a real receiver, and a manual clock; deliveries are made step by step. */
export async function openWebhookFixture(postgres?: Postgres) {
  const { mail, shops } = await openStores(postgres)
  const shop = shops.store
  const receiver = await openReceiver()
  const clock = { now: new Date('2026-03-01T12:00:00Z') }
  const now = () => clock.now
  const logged: string[] = []
  const parses: Parses = { count: 0, error: undefined }
  const deps = openDeps({ store: mail.store, shop, now, logged, parses })
  const keys = keyRing(shop, now)

  async function read(id: string): Promise<Webhook> {
    const webhook = await shop.readWebhook(id, now())
    if (!webhook) throw new Error('no webhook')
    return webhook
  }

  return {
    clock,
    pass(ms: number): void {
      clock.now = new Date(clock.now.getTime() + ms)
    },
    mail,
    shop,
    /** The shop as another node sees it; on SQLite there is one node. */
    other: (shops as { other?: ShopStore }).other ?? shop,
    receiver,
    deps,
    logged,
    parses,
    issue: keys.issue,
    issueRefunded: keys.issueRefunded,
    used: async (keyId: string) => (await shop.readKey(keyId, now()))?.used,
    /** Mail to the pool, or to a session. */
    async send(
      subject: string,
      to: string | readonly string[] = 'any@pool.test',
      from = 'ann@sender.test',
    ): Promise<void> {
      const more = { head: { ...head(subject), senderEmail: from }, receivedAt: now() }
      const isPooled = (address: string) => address.endsWith('@pool.test')
      const all = [to].flat()
      const pooled = all.filter(isPooled).map((one) => ({ address: one as never, mailbox: POOL }))
      const recipients = [...pooled, ...(await mail.accepted(all.filter((one) => !isPooled(one))))]
      const { outcome } = await mail.store.addMail(newMail(recipients, more))
      if (outcome !== 'stored') throw new Error(outcome)
    },
    async hook(keyId: string, more: Partial<Webhook> = {}): Promise<string> {
      const id = `wh_${randomBytes(8).toString('hex')}`
      const { url } = receiver
      const { to, from, subject, lastId = 0 } = more
      await shop.addWebhook({ id, keyId, url, to, from, subject, createdAt: now(), lastId })
      return id
    },
    read,
    paused: async (id: string) => pauseReason(await read(id), now()),
    /** Delivers until there is something to wait for. */
    async run(id: string): Promise<NextStep> {
      for (;;) {
        const step = await deliverNext(deps, id)
        if (step.waitMs !== 0) return step
      }
    },
    async close(): Promise<void> {
      await receiver.close()
      await shops.close()
      await mail.close()
    },
  }
}

async function openStores(postgres: Postgres | undefined) {
  const mail = await openFixture(
    postgres
      ? await openPostgresTestMail(postgres, { limits: LIMITS })
      : await openSqliteTestMail(LIMITS),
  )
  const shops = postgres ? await openPostgresTestShop(postgres) : await openSqliteTestShop()
  return { mail, shops }
}

interface Parts {
  store: Store
  shop: ShopStore
  now(): Date
  logged: string[]
  parses: Parses
}

interface Parses {
  count: number
  /** What the parser fails with. */
  error: Error | undefined
}

/** For receivers on loopback. */
export function localClient(timeoutMs: number): WebhookClient {
  const allowed = { hosts: [], ranges: ['127.0.0.1'] }
  return openWebhookClient({ allowed, dnsServers: [], timeoutMs })
}

function openDeps({ store, shop, now, logged, parses }: Parts) {
  const parser = inlineParser(async () => {
    parses.count += 1
    if (parses.error) throw parses.error
    return EMPTY_MAIL
  })
  const parse = openParseOnce({ store, parser })
  return {
    store,
    shop,
    event: openEvents(openParsedMail({ store, parse, largeReads: openLargeReads() })),
    steps: openStepScheduler(),
    poolAccess: 'open' as const,
    now,
    random: () => 0.5,
    retryDelaysMs: [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000],
    installationSecret: new Uint8Array(32).fill(7),
    webhookClient: localClient(60_000),
    log: { warn() {}, error: (_facts: object, text: string) => void logged.push(text) },
  }
}
