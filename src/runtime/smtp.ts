import { parentPort, workerData } from 'node:worker_threads'
import { type Awaitable, whenAvailable } from '../base/awaitable.ts'
import { rateLimitNetwork, senderLimitRules } from '../base/ip.ts'
import { openCounters, openSharedBudget } from '../limit/shared-counters.ts'
import { acceptRecipient, receiveMail } from '../mail/receive-mail.ts'
import { openRefusedCounts } from '../mail/refused-counts.ts'
import { openSmtpServer } from '../smtp/server.ts'
import { openCaller } from './ports.ts'
import { openIntakeParts, openThreadContexts, type ServerThreadSetup, serveMain } from './setup.ts'
import { receiveLimits } from './stores.ts'

const setup: ServerThreadSetup = workerData
const { config, shared, listen } = setup
const parts = await openIntakeParts(setup)
const { store, bus, limit, log, now, mailLog, findBlock, findMailBlock } = parts
const limits = receiveLimits(config)
const connections = openCounters(shared.connections)
const { connectionsPerIp, mailsPerIpAndMinute: count, bytesInFlight, bytesPerHour } = config.smtp
const bytes = openSharedBudget(shared.mailBytes, bytesInFlight)
const mailRate = { count, seconds: 60, burst: count }
// A mail that exceeds the limit is accepted; the overdraft then delays the sender by at most another hour.
const traffic = {
  count: bytesPerHour,
  seconds: 3_600,
  burst: bytesPerHour,
  overdraft: bytesPerHour,
}

const { rateLimits, smtp } = config
const { hasRates, shareNetwork } = senderLimitRules({ rateLimits, relays: smtp.relays })

const refused = openRefusedCounts(parts)
const intake = { store, limits, now, ownHosts: config.ownHosts, countOwnRefused: refused.count }

const mayPass = (waitMs: Awaitable<number>) => whenAvailable(waitMs, (ms) => ms === 0)

const server = await openSmtpServer(
  {
    acceptRecipient: (text, { ip, ...offer }) =>
      acceptRecipient(intake, text, { ...offer, senderNetwork: shareNetwork(ip) }),
    receiveMail: (mail) =>
      receiveMail(
        { store, bus, now, findMailBlock },
        { ...mail, senderNetwork: shareNetwork(mail.envelope.clientIp) },
      ),
    isBlocked: ({ ip, sender }) => findBlock({ clientIp: ip, mailFrom: sender }) !== undefined,
    storageFault: store.storageFault,
    acquireConnection: (ip) =>
      hasRates(ip) ? connections.hold(`smtp ${rateLimitNetwork(ip)}`, connectionsPerIp) : () => {},
    allowMail: (ip) =>
      !hasRates(ip) || mayPass(limit.take(`mail ${rateLimitNetwork(ip)}`, mailRate, now())),
    allowTraffic: (ip) =>
      !hasRates(ip) || mayPass(limit.peek(`traffic ${rateLimitNetwork(ip)}`, traffic, now())),
    countTraffic(ip, received) {
      if (hasRates(ip))
        void limit.spend(`traffic ${rateLimitNetwork(ip)}`, received, traffic, now())
    },
    reserveBytes: bytes.reserve,
    releaseBytes: bytes.release,
    mailLog,
    log,
    now,
  },
  {
    ...config.smtp,
    ...listen,
    folder: config.data,
    contexts: await openThreadContexts(setup, {
      ...parts,
      callMain: openCaller(setup.mainPort),
      defaultName: config.smtp.hostname,
    }),
  },
)

serveMain({
  ready: () => server.port,
  drain: server.drain,
  async close() {
    await server.close()
    await refused.close()
    await parts.close()
    setup.mainPort.close()
    parentPort?.unref()
  },
})
