import { once } from 'node:events'
import { dnsServerFiles } from '../dns/knot.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'
import { failureOf, mountProblem } from './capabilities.ts'
import { program } from './programs.ts'
import { startServer } from './server-process.ts'

/** Why there can be no such machine here; undefined if there can. */
export const machineProblem =
  mountProblem ?? failureOf('unshare', '--net', program('ip'), 'link', 'set', 'lo', 'up')

interface MachineOptions {
  /** Its public address. */
  address: string
  /** Commands of a shell that run in its namespaces first. */
  prepare: readonly string[]
}

export type Machine = Awaited<ReturnType<typeof openMachine>>

/**
 * A machine of its own: namespaces for network and mounts, so that its ports are free, and a name server on 127.0.0.1 that has only
 * what is published.
 */
export async function openMachine({ address, prepare }: MachineOptions) {
  const folder = tempFolder()
  let serial = 1
  const writeZone = (records: readonly string[]) =>
    dnsServerFiles(folder.path, { listen: '127.0.0.1@53', serial, records })
  writeZone([])
  const script = [
    `${program('ip')} link set lo up`,
    `${program('ip')} addr add ${address}/32 dev lo`,
    ...prepare,
    `exec ${program('knotd')} -c ${folder.path}/knot.conf`,
  ]
  const nameServer = await startServer({
    command: ['unshare', '--net', '--mount', 'sh', '-ec', script.join('\n')],
    folder: folder.path,
    ready: /server started/,
  })
  let output = ''
  for (const stream of [nameServer.stdout, nameServer.stderr])
    stream?.on('data', (chunk) => (output += chunk))

  return {
    /** The command line that runs a command there. */
    under: ['nsenter', '--target', String(nameServer.pid), '--net', '--mount'],
    /** Replaces all records of the name server. */
    async publish(records: readonly string[]): Promise<void> {
      serial += 1
      writeZone(records)
      nameServer.kill('SIGHUP')
      await waitUntil(() => new RegExp(`loaded, serial .*\\b${serial}\\b`).test(output))
    },
    async close(): Promise<void> {
      const ended = once(nameServer, 'exit')
      nameServer.kill('SIGKILL')
      await ended
      folder.remove()
    },
  }
}
