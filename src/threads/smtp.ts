import { parentPort, workerData } from 'node:worker_threads'
import { register } from 'prom-client'
import { isLoopback, rangeTest, rateAddress, senderNetwork } from '../core/ip.ts'
import { openBudget, openHeld } from '../limit/held.ts'
import { openLog } from '../log.ts'
import { accept } from '../service/accept.ts'
import { receive } from '../service/receive.ts'
import { openSmtp } from '../smtp/server.ts'
import { serve } from './ports.ts'
import { type DoorSetup, openParts } from './setup.ts'
import { receiveLimits } from './stores.ts'

const setup: DoorSetup = workerData
const { config, shared, listen, name } = setup
const log = openLog({ level: config.logLevel, thread: name })
const parts = await openParts(setup, log)
const { store, bus, limit, now } = parts
const limits = receiveLimits(config)
const connections = openHeld(shared.connections)
const { connectionsPerIp, mailsPerIpAndMinute: count, bytesInFlight } = config.smtp
const bytes = openBudget(shared.mailBytes, bytesInFlight)
const mailRate = { count, seconds: 60, burst: count }

const { bytesPerHour } = config.smtp
// Whoever sent ahead of the limit waits for that, but at most an hour.
const traffic = {
  count: bytesPerHour,
  seconds: 3_600,
  burst: bytesPerHour,
  overdraft: bytesPerHour,
}

const isRelay = rangeTest(config.smtp.relays)
const isFree = (ip: string) => !config.rateLimits || isLoopback(ip) || isRelay(ip)
// Shares stay when rates are lifted, also for loopback: only relays are exempt.
const networkOf = (ip: string) => (isRelay(ip) ? undefined : senderNetwork(ip))

const door = await openSmtp(
  {
    accept: (text, { ip, ...offer }) =>
      accept({ store, limits, now }, text, { ...offer, senderNetwork: networkOf(ip) }),
    receive: (mail) =>
      receive({ store, bus, now }, { ...mail, senderNetwork: networkOf(mail.envelope.clientIp) }),
    obstacle: store.obstacle,
    holdConnection: (ip) =>
      isFree(ip) ? () => {} : connections.hold(`smtp ${rateAddress(ip)}`, connectionsPerIp),
    takeMail: async (ip) =>
      isFree(ip) || (await limit.take(`mail ${rateAddress(ip)}`, mailRate, now())) === 0,
    hasTraffic: async (ip) =>
      isFree(ip) || (await limit.look(`traffic ${rateAddress(ip)}`, traffic, now())) === 0,
    countTraffic(ip, received) {
      if (!isFree(ip)) void limit.spend(`traffic ${rateAddress(ip)}`, received, traffic, now())
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
