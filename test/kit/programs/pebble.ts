import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { tempFolder } from '../store/stores.ts'
import { program } from './programs.ts'
import { freePorts, makeCertificate, startServer } from './server-process.ts'

export type Pebble = Awaited<ReturnType<typeof openPebble>>

interface PebbleOptions {
  /** Where it connects to for http-01 and tls-alpn-01. */
  httpPort: number
  tlsPort: number
  /** Names that it refuses to issue for. */
  blocked?: readonly string[]
  validSeconds?: number
  /** Percentage of nonces that it refuses. */
  badNonces?: number
  /** Where it runs: the command line that runs a command there, and the name server to use. */
  elsewhere?: { under: readonly string[]; nameServer: string }
}

/** Debian's Pebble, a CA for tests, by default with a name server for which every name is on this machine. */
export async function openPebble(options: PebbleOptions) {
  const { httpPort, tlsPort, blocked = [], validSeconds = 90 * 86_400, badNonces = 5 } = options
  const { elsewhere } = options
  const [acmePort = 0, adminPort = 0, dnsPort = 0, dnsAdminPort = 0] = await freePorts(4)
  const folder = tempFolder()
  const dnsFolder = tempFolder()
  makeCertificate(folder.path, 'DNS:localhost,IP:127.0.0.1')
  const config = join(folder.path, 'pebble.json')
  const caFile = join(folder.path, 'tls.crt')
  const pebble = {
    listenAddress: `127.0.0.1:${acmePort}`,
    managementListenAddress: `127.0.0.1:${adminPort}`,
    certificate: caFile,
    privateKey: join(folder.path, 'tls.key'),
    httpPort,
    tlsPort,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
    domainBlocklist: blocked,
    retryAfter: { authz: 1, order: 1 },
    certificateValidityPeriod: validSeconds,
  }
  writeFileSync(config, JSON.stringify({ pebble }))
  const startDns = () =>
    startServer({
      command: [
        program('pebble-challtestsrv'),
        ...['-defaultIPv4', '127.0.0.1', '-defaultIPv6', ''],
        ...['-http01', '', '-https01', '', '-tlsalpn01', ''],
        ...['-dns01', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsAdminPort}`],
      ],
      folder: dnsFolder.path,
      ready: /Starting management server/,
    })
  const dns = elsewhere ? undefined : await startDns()
  const { under, nameServer } = elsewhere ?? { under: [], nameServer: `127.0.0.1:${dnsPort}` }
  const environment = [
    'PEBBLE_VA_NOSLEEP=1',
    'PEBBLE_AUTHZREUSE=0',
    `PEBBLE_WFE_NONCEREJECT=${badNonces}`,
  ]
  const start = () =>
    startServer({
      command: [
        ...[...under, '/usr/bin/env', ...environment],
        ...[program('pebble'), '-config', config, '-dnsserver', nameServer],
      ],
      folder: folder.path,
      ready: /ACME directory available/,
    })
  let server = await start()
  const directory = `https://127.0.0.1:${acmePort}/dir`
  const ca = await readFile(caFile, 'utf8')

  return {
    directory,
    caFile,
    ca,
    /** The certificate at the end of the chains that it issues. */
    async root(): Promise<string> {
      const url = `https://127.0.0.1:${adminPort}/roots/0`
      const curl = [program('curl'), '--silent', '--show-error', '--fail', '--cacert', caFile, url]
      const [file = '', ...args] = [...under, ...curl]
      return (await promisify(execFile)(file, args)).stdout
    },
    /** Changes what the name server answers: `set-default-ipv4`, `add-a`, `set-servfail` and so on. */
    async dns(command: string, value: object): Promise<void> {
      const url = `http://127.0.0.1:${dnsAdminPort}/${command}`
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(value) })
      if (response.status !== 200) throw new Error(await response.text())
    },
    /** It forgets its accounts and orders, and has another root. */
    async restart(): Promise<void> {
      server = await start()
    },
    async stop(): Promise<void> {
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGKILL')
      await ended
    },
    async close(): Promise<void> {
      server.kill('SIGKILL')
      dns?.kill('SIGKILL')
      folder.remove()
      dnsFolder.remove()
    },
  }
}
