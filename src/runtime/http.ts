import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { register } from 'prom-client'
import type { SenderChecks } from '../core/message.ts'
import { readBuiltPage } from '../http/pages/built-page.ts'
import { openHttp } from '../http/server/server.ts'
import { openBudget, openHeld } from '../limit/held.ts'
import { openLog } from '../log/log.ts'
import { openPay } from '../pay/open.ts'
import { openLargeReads } from '../service/mail/large-reads.ts'
import type { ParseOnce } from '../service/mail/parse-once.ts'
import { type SenderChecksDeps, senderChecksOnce } from '../service/mail/sender-checks.ts'
import { caller, serve } from './ports.ts'
import { openParts, type ServerThreadSetup } from './setup.ts'
import { openShopStore } from './stores.ts'

const setup: ServerThreadSetup = workerData
const { config, listen, name } = setup
const log = openLog({ level: config.logLevel, thread: name })
const parts = await openParts(setup, log)
const shop = await openShopStore(config, setup.shopPort)
const pay = await openPay({ ...config.payments, now: parts.now })
const main = caller(setup.mainPort)
const checkSender: SenderChecksDeps['check'] = async (facts, haste) =>
  (await main('checkSender', { ...facts, haste })) as SenderChecks | undefined
const parseOnMain: ParseOnce = async (rawId, request, signal) =>
  (await main('parse', { rawId, request }, signal)) as Awaited<ReturnType<ParseOnce>>

const largeReads = openLargeReads()

const { connections: most } = config.http
const all = openBudget(setup.shared.httpConnections, most)
const { hold } = openHeld(setup.shared.connections)

const door = await openHttp(
  {
    ...parts,
    shop,
    pay,
    parse: parseOnMain,
    largeReads,
    senderChecks: config.senderChecks.on
      ? senderChecksOnce({ ...parts, largeReads, check: checkSender, log })
      : async () => undefined,
    connections: { most, take: () => all.reserve(1), giveBack: () => all.release(1), hold },
    metrics: async () => String(await main('metrics')),
    warnings: async () => (await main('warnings')) as string[],
    builtPage: readBuiltPage(fileURLToPath(new URL('../../web/dist/', import.meta.url))),
    randomBytes: (count) => randomBytes(count),
    log,
    config,
  },
  listen,
)

if (parentPort) {
  serve(parentPort, {
    ready: () => door.port,
    metrics: () => register.getMetricsAsJSON(),
    drain: door.drain,
    async close() {
      await door.close()
      await parts.close()
      await shop.close()
      setup.mainPort.close()
      // What still waits for an answer of a payment provider holds nothing of ours, and nobody up.
      setImmediate(() => process.exit())
    },
  })
}
