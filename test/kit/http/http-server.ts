import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type Address, localOf, parseHost } from '../../../src/base/address.ts'
import type { Log, LogFacts } from '../../../src/base/log/log.ts'
import { makeWaiterCounts, openMemoryBus } from '../../../src/bus/memory.ts'
import { type BuiltPage, readBuiltPage } from '../../../src/http/pages/assets.ts'
import { makeRates, openMemoryLimit } from '../../../src/limit/memory.ts'
import {
  makeCounters,
  makeSharedBudget,
  openCounters,
  openSharedBudget,
} from '../../../src/limit/shared-counters.ts'
import type { IdleIntervals } from '../../../src/mail/deps.ts'
import { NO_MAIL_LOG } from '../../../src/mail/log/mail-log.ts'
import { mailLogKey } from '../../../src/mail/log/rules.ts'
import { openLargeReads } from '../../../src/mail/read/large-reads.ts'
import { openParseOnce } from '../../../src/mail/read/parse-once.ts'
import { receiveMail } from '../../../src/mail/receive-mail.ts'
import type { Message } from '../../../src/mail/rules/message.ts'
import { isOperatorLocalPart } from '../../../src/mail/rules/prefix.ts'
import type { Recipient } from '../../../src/mail/rules/recipient.ts'
import { OPERATOR, POOL } from '../../../src/mail/rules/session.ts'
import { readConfig } from '../../../src/runtime/config.ts'
import { openHttpServer } from '../../../src/runtime/http-server.ts'
import { openLocalSmtp } from '../../../src/runtime/local-smtp.ts'
import type { Mail, SenderChecks } from '../../../src/shared/mail.ts'
import type { ShopStore, Store } from '../../../src/store/store.ts'
import { inlineParser } from '../mail/inline-parser.ts'
import { LEDGER_KEY } from '../store/address-ledger.ts'
import { openTestStores } from '../store/stores.ts'

export type TestServer = Awaited<ReturnType<typeof openTestServer>>

interface TestServerOptions {
  env?: Record<string, string>
  /** Replace methods of the store, for example to make them fail. */
  storeOverrides?: Partial<Store>
  shopOverrides?: Partial<ShopStore>
  /** Wraps both stores, including the overrides. */
  wrapStore?: <Store extends object>(store: Store) => Store
  parse?: (raw: Uint8Array) => Promise<Mail>
  senderChecks?: (message: Message) => Promise<SenderChecks | undefined>
  /** Warnings of the main thread, for /readyz. */
  warnings?: string[]
  /** What the main thread does when the operator wants the checks. */
  runChecks?: () => Promise<void>
  checkProgress?: () => Promise<{ done: number; all: number } | undefined>
  /** How long a response waits for codes and sender checks. */
  resultWaitMs?: number
  intervals?: IdleIntervals
  requestTimeoutMs?: number
  now?: () => Date
  builtPage?: BuiltPage
}

/** Only the HTTP server, in this thread, on a temporary store: for injecting faults and for inspecting the log. */
export async function openTestServer({
  env = {},
  storeOverrides = {},
  shopOverrides = {},
  wrapStore = (store) => store,
  parse = noParse,
  senderChecks = async () => undefined,
  warnings = [],
  runChecks = async () => {},
  checkProgress = async () => undefined,
  resultWaitMs,
  intervals,
  now = () => new Date(),
  builtPage = readBuiltPage(fileURLToPath(new URL('../../../dist/page/', import.meta.url)), {
    admin: env['MAYFLY_ADMIN_TOKEN'] !== undefined,
  }),
  ...rest
}: TestServerOptions = {}) {
  const scratch = await openTestStores({
    mailbox: { maxMessages: 1_000, maxBytes: 100_000_000 },
    poolMaxBytes: 100_000_000,
    ownMaxBytes: 100_000_000,
    maxMailBytes: 10_000_000,
  })
  const name = parseHost('box.test')
  if (name) {
    await scratch.store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  }
  const store = wrapStore({ ...scratch.store, ...storeOverrides })
  const shop = wrapStore({ ...scratch.shop, ...shopOverrides })
  const { config: read } = readConfig({ env: { MAYFLY_HTTP_THREADS: '1', ...env }, file: {} })
  const { http } = read
  const config = {
    ...read,
    http: {
      ...http,
      resultWaitMs: resultWaitMs ?? http.resultWaitMs,
      intervals: intervals ?? http.intervals,
    },
  }
  const waiters = makeWaiterCounts()
  const bus = openMemoryBus(`server-${randomBytes(8).toString('hex')}`, waiters)
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
  const main: Record<string, () => unknown> = {
    metrics: () => '# nothing\n',
    warnings: () => warnings,
    runChecks,
    checkProgress,
  }
  const all = openSharedBudget(makeSharedBudget(), config.http.connections)
  const deps = {
    store,
    shop,
    bus,
    limit: openMemoryLimit(makeRates()),
    parse: openParseOnce({ store, parser: inlineParser(parse) }),
    // Nothing listens on port 1.
    sendLocalMail: openLocalSmtp({ host: '127.0.0.1', port: 1, proxyFrom: [] }),
    connections: {
      max: config.http.connections,
      acquire: () => all.reserve(1),
      release: () => all.release(1),
      acquireFor: openCounters(makeCounters()).hold,
    },
    senderChecks,
    builtPage,
    ownAddresses: [],
    mailLogKey: mailLogKey(LEDGER_KEY),
    largeReads: openLargeReads(),
    callMain: async (name: string) => await main[name]?.(),
    now,
    randomBytes: (count: number) => randomBytes(count),
    log,
    config,
  }
  const findMailBlock = () => undefined
  const server = await openHttpServer(deps, {
    host: '127.0.0.1',
    port: 0,
    reusePort: false,
    ...rest,
  })

  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    store,
    shop,
    bus,
    /** The number of subscriptions on the bus. */
    subscriptions: () => new Int32Array(waiters).reduce((sum, count) => sum + count, 0),
    now,
    logged,
    findMailBlock,
    mailLog: NO_MAIL_LOG,
    /** Stores a mail like the SMTP server after the final dot. */
    mail: async (to: string | readonly string[], raw = 'Subject: hi\r\n\r\nhello\r\n') => {
      const recipients: Recipient[] = []
      for (const address of [to].flat() as Address[]) {
        const { session } = await store.findRecipient(address)
        const shared = isOperatorLocalPart(localOf(address)) ? OPERATOR : POOL
        recipients.push({ address, mailbox: session?.id ?? shared })
      }
      const mail = {
        recipients,
        envelope: {
          clientIp: '192.0.2.1',
          helo: 'sender.test',
          mailFrom: 'ann@sender.test',
          tls: undefined,
          protocol: 'ESMTP',
        },
        raw: Buffer.from(raw),
      }
      return receiveMail({ ...deps, findMailBlock }, mail)
    },
    drain: server.drain,
    close: server.close,
    async stop() {
      await server.close()
      // The bus announces changes in the next turn of the event loop.
      await new Promise(setImmediate)
      await bus.close()
      await scratch.close()
    },
  }
}

async function noParse(): Promise<Mail> {
  throw new Error('nothing is parsed here')
}
