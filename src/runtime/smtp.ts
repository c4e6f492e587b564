import { parentPort, workerData } from 'node:worker_threads'
import { register } from 'prom-client'
import { rateAddress, senderLimits } from '../core/ip.ts'
import { openBudget, openHeld } from '../limit/held.ts'
import { openLog } from '../log/log.ts'
import { accept } from '../service/mail/accept.ts'
import { receive } from '../service/mail/receive.ts'
import { openSmtp } from '../smtp/server.ts'
import { serve } from './ports.ts'
import { openParts, type ServerThreadSetup } from './setup.ts'
import { receiveLimits } from './stores.ts'

const setup: ServerThreadSetup = workerData
const { config, shared, listen, name } = setup
const log = openLog({ level: config.logLevel, thread: name })
const parts = await openParts(setup, log)
const { store, bus, limit, now } = parts
const limits = receiveLimits(config)
const connections = openHeld(shared.connections)
const { connectionsPerIp, mailsPerIpAndMinute: count, bytesInFlight, bytesPerHour } = config.smtp
const bytes = openBudget(shared.mailBytes, bytesInFlight)
const mailRate = { count, seconds: 60, burst: count }
// A mail that crosses the limit is paid for later: by at most one more hour of waiting.
const traffic = {
  count: bytesPerHour,
  seconds: 3_600,
  burst: bytesPerHour,
  overdraft: bytesPerHour,
}

const { rateLimits, smtp } = config
const { hasRates, shareNetwork } = senderLimits({ rateLimits, relays: smtp.relays })

const door = await openSmtp(
  {
    accept: (text, { ip, ...offer }) =>
      accept({ store, limits, now }, text, { ...offer, senderNetwork: shareNetwork(ip) }),
    receive: (mail) =>
      receive(
        { store, bus, now },
        { ...mail, senderNetwork: shareNetwork(mail.envelope.clientIp) },
      ),
    obstacle: store.obstacle,
    holdConnection: (ip) =>
      hasRates(ip) ? connections.hold(`smtp ${rateAddress(ip)}`, connectionsPerIp) : () => {},
    takeMail: async (ip) =>
      !hasRates(ip) || (await limit.take(`mail ${rateAddress(ip)}`, mailRate, now())) === 0,
    hasTraffic: async (ip) =>
      !hasRates(ip) || (await limit.look(`traffic ${rateAddress(ip)}`, traffic, now())) === 0,
    countTraffic(ip, received) {
      if (hasRates(ip)) void limit.spend(`traffic ${rateAddress(ip)}`, received, traffic, now())
    },
    reserveBytes: bytes.reserve,
    releaseBytes: bytes.release,
    log,
    now,
  },
  { ...config.smtp, ...listen, folder: config.data },
)

if (parentPort) {
  serve(parentPort, {
    ready: () => door.port,
    metrics: () => register.getMetricsAsJSON(),
    drain: door.drain,
    async close() {
      await door.close()
      await parts.close()
      setup.mainPort.close()
      parentPort?.unref()
    },
  })
}
