import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { makeWaiterCounts, openMemoryBus } from '../../src/bus/memory.ts'
import { readConfig } from '../../src/config/config.ts'
import { type Address, parseHost } from '../../src/core/address.ts'
import type { Log, LogFacts } from '../../src/core/log.ts'
import type { Mail, Message, SenderChecks } from '../../src/core/message.ts'
import { OPERATOR } from '../../src/core/session.ts'
import { type BuiltPage, readBuiltPage } from '../../src/http/pages/assets.ts'
import type { IdleIntervals } from '../../src/http/server/deps.ts'
import { openHttpServer } from '../../src/http/server/server.ts'
import { makeRates, openMemoryLimit } from '../../src/limit/memory.ts'
import {
  makeCounters,
  makeSharedBudget,
  openCounters,
  openSharedBudget,
} from '../../src/limit/shared-counters.ts'
import { openPaymentProvider } from '../../src/pay/open.ts'
import { openParseOnce } from '../../src/service/mail/parse-once.ts'
import { receiveMail } from '../../src/service/mail/receive-mail.ts'
import type { ShopStore } from '../../src/store/shop-store.ts'
import type { MailStore } from '../../src/store/store.ts'
import { inlineParser } from './inline-parser.ts'
import { openTestStores } from './stores.ts'

export type TestServer = Awaited<ReturnType<typeof openTestServer>>

interface TestServerOptions {
  env?: Record<string, string>
  /** Makes parts of the store fail or tell of trouble; a whole one is used in its place. */
  trouble?: Partial<MailStore>
  shopTrouble?: Partial<ShopStore>
  /** Put around both stores, in front of the trouble. */
  wrapStore?: <Store extends object>(store: Store) => Store
  parse?: (raw: Uint8Array) => Promise<Mail>
  senderChecks?: (message: Message) => Promise<SenderChecks | undefined>
  /** What the main thread has to tell the operator. */
  warnings?: string[]
  /** So long an answer waits for what is read out of a mail besides its text. */
  patienceMs?: number
  quiet?: IdleIntervals
  requestMs?: number
  now?: () => Date
  builtPage?: BuiltPage
}

/** The HTTP door alone, in this thread, on a scratch store: for faults, and for what it writes to the log. */
export async function openTestServer({
  env = {},
  trouble = {},
  shopTrouble = {},
  wrapStore = (store) => store,
  parse = noParse,
  senderChecks = async () => undefined,
  warnings = [],
  patienceMs,
  quiet,
  now = () => new Date(),
  builtPage = readBuiltPage(fileURLToPath(new URL('../../web/dist/', import.meta.url))),
  ...rest
}: TestServerOptions = {}) {
  const scratch = await openTestStores({
    mailbox: { maxMessages: 1_000, maxBytes: 100_000_000 },
    poolMaxBytes: 100_000_000,
    maxMailBytes: 10_000_000,
  })
  const name = parseHost('box.test')
  if (name) {
    await scratch.store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  }
  const store = wrapStore({ ...scratch.store, ...trouble })
  const shop = wrapStore({ ...scratch.shop, ...shopTrouble })
  const { config: read } = readConfig({ env, file: {} })
  const patience = patienceMs === undefined ? {} : { patienceMs }
  const config = { ...read, http: { ...read.http, ...patience, ...(quiet ? { quiet } : {}) } }
  const waiters = makeWaiterCounts()
  const bus = openMemoryBus(`door-${randomBytes(8).toString('hex')}`, waiters)
  const logged: { level: string; facts: LogFacts; sentence: string }[] = []
  const note = (level: string) => (facts: LogFacts, sentence: string) => {
    logged.push({ level, facts, sentence })
  }
  const log: Log = {
    debug: note('debug'),
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
  }
  const all = openSharedBudget(makeSharedBudget(), config.http.connections)
  const deps = {
    store,
    shop,
    pay: await openPaymentProvider({ ...config.payments, now }),
    bus,
    limit: openMemoryLimit(makeRates()),
    parse: openParseOnce({ store, parser: inlineParser(parse) }),
    connections: {
      most: config.http.connections,
      take: () => all.reserve(1),
      giveBack: () => all.release(1),
      hold: openCounters(makeCounters()).hold,
    },
    senderChecks,
    builtPage,
    metrics: async () => '# nothing\n',
    warnings: async () => warnings,
    now,
    randomBytes: (count: number) => randomBytes(count),
    log,
    config,
  }
  const door = await openHttpServer(deps, { host: '127.0.0.1', port: 0, reusePort: false, ...rest })

  return {
    url: `http://127.0.0.1:${door.port}`,
    port: door.port,
    store,
    shop,
    bus,
    /** How many wait on the bus at this moment. */
    subscriptions: () => new Int32Array(waiters).reduce((sum, count) => sum + count, 0),
    now,
    logged,
    /** Keeps a mail as the SMTP door does after the final dot. */
    mail: async (to: string, raw = 'Subject: hi\r\n\r\nhello\r\n') => {
      const { session } = await store.findRecipient(to as Address)
      return receiveMail(deps, {
        recipients: [{ address: to as Address, mailbox: session?.id ?? OPERATOR }],
        envelope: {
          clientIp: '192.0.2.1',
          helo: 'sender.test',
          mailFrom: 'ann@sender.test',
          tls: undefined,
          protocol: 'ESMTP',
        },
        raw: Buffer.from(raw),
      })
    },
    drain: door.drain,
    close: door.close,
    async stop() {
      await door.close()
      // The bus tells its news in the next turn.
      await new Promise(setImmediate)
      await bus.close()
      await scratch.close()
    },
  }
}

async function noParse(): Promise<Mail> {
  throw new Error('nothing is parsed here')
}
