import { parentPort, workerData } from 'node:worker_threads'
import { register } from 'prom-client'
import { isLoopback, rateAddress } from '../core/ip.ts'
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

const isFree = (ip: string) => !config.rateLimits || isLoopback(ip)

const door = await openSmtp(
  {
    accept: (text, size) => accept({ store, limits, now }, text, size),
    receive: (mail) => receive({ store, bus, now }, mail),
    obstacle: store.obstacle,
    holdConnection: (ip) =>
      isFree(ip) ? () => {} : connections.hold(`smtp ${rateAddress(ip)}`, connectionsPerIp),
    takeMail: async (ip) =>
      isFree(ip) || (await limit.take(`mail ${rateAddress(ip)}`, mailRate, now())) === 0,
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
