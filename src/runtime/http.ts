import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { workerData } from 'node:worker_threads'
import { machineAddresses } from '../base/network.ts'
import { readBuiltPage } from '../http/pages/assets.ts'
import { openCounters, openSharedBudget } from '../limit/shared-counters.ts'
import { mailLogKey } from '../mail/log/rules.ts'
import { openLargeReads } from '../mail/read/large-reads.ts'
import type { ParseOnce } from '../mail/read/parse-once.ts'
import { openSenderChecks, type SenderChecksDeps } from '../mail/sender-checks.ts'
import type { SenderChecks } from '../shared/mail.ts'
import { openHttpServer } from './http-server.ts'
import { openLocalSmtp } from './local-smtp.ts'
import { openCaller } from './ports.ts'
import { openThreadContexts, openThreadParts, type ServerThreadSetup, serveMain } from './setup.ts'
import { openShopStore } from './stores.ts'

const setup: ServerThreadSetup = workerData
const { config, listen } = setup
const parts = await openThreadParts(setup)
const shop = await openShopStore(config, setup.shopPort)
const callMain = openCaller(setup.mainPort)
const checkSender: SenderChecksDeps['check'] = async (facts, priority) =>
  (await callMain('checkSender', { ...facts, priority })) as SenderChecks | undefined
const parseOnMain: ParseOnce = async (rawId, request, signal) =>
  (await callMain('parse', { rawId, request }, signal)) as Awaited<ReturnType<ParseOnce>>

const largeReads = openLargeReads({ deadlineMs: config.http.parseDeadlineMs })

const { connections: max } = config.http
const connectionBudget = openSharedBudget(setup.shared.httpConnections, max)
const { hold } = openCounters(setup.shared.connections)

const defaultName = URL.parse(config.http.baseUrl)?.hostname ?? ''
const contexts = await openThreadContexts(setup, { ...parts, callMain, defaultName })

const server = await openHttpServer(
  {
    ...parts,
    shop,
    parse: parseOnMain,
    sendLocalMail: openLocalSmtp({ ...config.smtp, host: listen.host }),
    largeReads,
    senderChecks: config.senderChecks.on
      ? openSenderChecks({ ...parts, largeReads, check: checkSender })
      : async () => undefined,
    connections: {
      max,
      acquire: () => connectionBudget.reserve(1),
      release: () => connectionBudget.release(1),
      acquireFor: hold,
    },
    callMain,
    builtPage: readBuiltPage(fileURLToPath(new URL('../../dist/page/', import.meta.url)), {
      admin: config.adminToken !== '',
    }),
    ownAddresses: machineAddresses(),
    mailLogKey: mailLogKey(setup.ledgerKey),
    randomBytes: (count) => randomBytes(count),
    config,
  },
  { ...listen, https: contexts && { port: listen.httpsPort, contexts } },
)

serveMain({
  ready: () => server.port,
  drain: server.drain,
  async close() {
    await server.close()
    await parts.close()
    await shop.close()
    setup.mainPort.close()
    // Pending requests to a payment provider must not delay the exit.
    setImmediate(() => process.exit())
  },
})
