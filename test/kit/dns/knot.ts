import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../programs/programs.ts'
import { freePort, startServer } from '../programs/server-process.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'

type Zones = Readonly<Record<string, readonly string[]>>

interface ZoneOptions {
  /** Address and port, such as 127.0.0.1@53. */
  listen: string
  /** Lines of a zone file, with absolute names. */
  records: readonly string[]
  /** Zones below the root: their names and records. */
  zones?: Zones
  serial?: number
  /** A zone that cannot be loaded: names in it are answered with SERVFAIL. */
  broken?: string
  /** Zones that are signed with DNSSEC. */
  signed?: readonly string[]
}

/** Writes knot.conf and the zone of a Knot DNS that is the root of a private name space. */
export function dnsServerFiles(folder: string, options: ZoneOptions): void {
  const { listen, records, zones = {}, serial = 1, broken = 'broken.test', signed = [] } = options
  writeFileSync(join(folder, 'root.zone'), zoneText('', serial, records))
  for (const [name, lines] of Object.entries(zones)) {
    writeFileSync(join(folder, `${name}.zone`), zoneText(name, serial, lines))
  }
  const names = [broken, ...Object.keys(zones)]
  writeFileSync(join(folder, 'knot.conf'), configuration(folder, { listen, zones: names, signed }))
}

/** Debian's Knot DNS on a free local port. */
export async function openDnsServer(
  records: readonly string[],
  {
    broken = 'broken.test',
    zones = {},
    signed = [],
  }: Pick<ZoneOptions, 'broken' | 'zones' | 'signed'> = {},
) {
  const folder = tempFolder()
  const port = await freePort()
  const listen = `127.0.0.1@${port}`
  let serial = 1
  dnsServerFiles(folder.path, { listen, records, zones, broken, signed })
  const server = await startServer({
    command: [program('knotd'), '-c', join(folder.path, 'knot.conf')],
    folder: folder.path,
    ready: /server started/,
  })
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${port}`])
  // Signing a zone raises its serial.
  const hasLoaded = async (zone: string) =>
    ((await resolver.resolveSoa(zone).catch(() => undefined))?.serial ?? 0) >= serial
  const isLoaded = async () =>
    (await Promise.all(['.', ...Object.keys(zones)].map(hasLoaded))).every(Boolean)
  await waitUntil(isLoaded)

  return {
    server: `127.0.0.1:${port}`,
    /** Replaces all records of the root, and of the zones that are named. */
    async change(lines: readonly string[], changed: Zones = {}) {
      serial += 1
      const all = { ...zones, ...changed }
      dnsServerFiles(folder.path, { listen, records: lines, zones: all, serial, broken })
      server.kill('SIGHUP')
      await waitUntil(isLoaded)
    },
    close() {
      server.kill('SIGKILL')
      folder.remove()
    },
  }
}

/** Name servers that never answer. */
export async function openSilentServers(count: number) {
  const sockets = Array.from({ length: count }, () => createSocket('udp4').bind(0, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'listening')))
  return {
    servers: sockets.map((socket) => `127.0.0.1:${socket.address().port}`),
    close() {
      for (const socket of sockets) socket.close()
    },
  }
}

function zoneText(name: string, serial: number, records: readonly string[]): string {
  const soa = `${name}. 60 IN SOA ns.test. hostmaster.test. ${serial} 3600 600 86400 60`
  return `${[soa, `${name}. 60 IN NS ns.test.`, ...records].join('\n')}\n`
}

/** A zone without a file is broken. */
function configuration(
  folder: string,
  {
    listen,
    zones,
    signed,
  }: { listen: string; zones: readonly string[]; signed: readonly string[] },
): string {
  const signing = (zone: string) => (signed.includes(zone) ? '    dnssec-signing: on\n' : '')
  return `server:
    rundir: "${folder}"
    listen: ${listen}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: info
database:
    storage: "${folder}"
template:
  - id: default
    storage: "${folder}"
    journal-content: none
    zonefile-sync: -1
zone:
  - domain: "."
    file: root.zone
${zones.map((zone) => `  - domain: "${zone}"\n    file: ${zone}.zone\n${signing(zone)}`).join('')}`
}
