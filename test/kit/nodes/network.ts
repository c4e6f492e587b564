import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { failureOf, mountProblem } from '../programs/capabilities.ts'
import { findProgram } from '../programs/programs.ts'
import { endWithParent } from '../programs/server-process.ts'
import { waitUntil } from '../wait-until.ts'

/** Why there can be no such network here; undefined if there can. */
export function networkProblem(): string | undefined {
  return (
    mountProblem ?? failureOf('unshare', '--net', findProgram('nft') ?? 'nft', 'list', 'ruleset')
  )
}

export type Network = Awaited<ReturnType<typeof openNetwork>>
export type Machine = Network['machines'][string]

export interface Filter {
  /** Addresses of the other machines. */
  peers: readonly string[]
  /** What is dropped, as seen by the machine; by default both. */
  directions?: readonly ('in' | 'out')[]
  /** How many packets of a hundred are dropped; by default all. */
  percent?: number
}

/**
 * Machines on a switch: namespaces for network, processes and mounts, each with an address that this process can reach.
 * They end with this process.
 */
export async function openNetwork<Name extends string>(names: readonly Name[]) {
  // RFC 2544: for tests of networks.
  const subnet = `198.18.${randomInt(1, 255)}`
  const hub = await startMachine()
  const outside = `mf${process.pid}`
  ip(hub, 'link add switch type bridge')
  ip(hub, 'link set switch up')
  plug(hub, 'outside', { into: process.pid, as: outside })
  execFileSync('ip', `addr add ${subnet}.1/24 dev ${outside}`.split(' '))
  execFileSync('ip', `link set ${outside} up`.split(' '))

  async function openMachine(name: string, number: number) {
    const { pid, end } = await startMachine()
    const address = `${subnet}.${number}`
    plug(hub, `to-${name}`, { into: pid, as: 'eth0' })
    ip({ pid }, `addr add ${address}/24 dev eth0`)
    ip({ pid }, 'link set eth0 up')
    const under = ['nsenter', '--target', `${pid}`, '--net', '--pid', '--mount']
    const run = (...command: string[]) => {
      const [file = '', ...args] = [...under, ...command]
      execFileSync(file, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    }
    let filters = 0
    return {
      name,
      address,
      /** The command line that runs a command there. */
      under,
      run,
      /** Kills all its processes, as if it had lost power. */
      kill(): void {
        // The shell is killed, too.
        try {
          run('sh', '-c', 'kill -9 -1')
        } catch {}
      },
      /** Stops or resumes all its processes. */
      signal: (name: 'STOP' | 'CONT') => run('sh', '-c', `kill -${name} -1`),
      /** Drops packets; returns how to stop that. */
      filter({ peers, directions = ['in', 'out'], percent = 100 }: Filter): () => void {
        filters += 1
        const table = `inet filter${filters}`
        const chance = percent < 100 ? `numgen random mod 100 < ${percent}` : ''
        run('nft', `add table ${table}`)
        for (const direction of directions) {
          const [hook, field] = direction === 'in' ? ['input', 'saddr'] : ['output', 'daddr']
          run('nft', `add chain ${table} ${direction} { type filter hook ${hook} priority 0; }`)
          const packets = `ip ${field} { ${peers.join(', ')} } ${chance}`
          run('nft', `add rule ${table} ${direction} ${packets} drop`)
        }
        return () => run('nft', `delete table ${table}`)
      },
      /** Limits what it sends; returns how to stop that. */
      throttle(rate: string): () => void {
        run('tc', ...`qdisc replace dev eth0 root tbf rate ${rate} burst 8kb latency 2s`.split(' '))
        return () => run('tc', 'qdisc', 'replace', 'dev', 'eth0', 'root', 'pfifo')
      },
      end,
    }
  }

  const opened = await Promise.all(
    names.map(async (name, at) => [name, await openMachine(name, at + 2)] as const),
  )
  type Opened = Awaited<ReturnType<typeof openMachine>>
  return {
    /** The address of this process. */
    host: `${subnet}.1`,
    machines: Object.fromEntries(opened) as Record<Name, Opened>,
    async close(): Promise<void> {
      await Promise.all(opened.map(([, { end }]) => end()))
      await hub.end()
    },
  }
}

/** Its first process only keeps the namespaces and reaps orphans. */
async function startMachine() {
  const script = 'ip link set lo up; mount -t tmpfs tmpfs /dev/shm; while :; do sleep 1000; done'
  const namespaces = '--net --pid --fork --kill-child=KILL --mount-proc'.split(' ')
  const [file = '', ...args] = endWithParent(['unshare', ...namespaces, 'sh', '-c', script])
  const holder = spawn(file, args, { stdio: 'ignore' })
  let pid = 0
  await waitUntil(() => {
    const children = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')
    pid = Number(children.trim())
    return pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sh')
  })
  return {
    pid,
    async end(): Promise<void> {
      const ended = once(holder, 'exit')
      holder.kill('SIGKILL')
      await ended
      // The kernel removes the namespaces a moment later.
      await pause(10)
    },
  }
}

/** A cable from a port of the switch to the namespace of this process. */
function plug(hub: { pid: number }, port: string, { into, as }: { into: number; as: string }) {
  ip(hub, `link add ${port} type veth peer name ${as} netns ${into}`)
  ip(hub, `link set ${port} master switch up`)
}

function ip({ pid }: { pid: number }, command: string): void {
  const args = ['--target', `${pid}`, '--net', 'ip', ...command.split(' ')]
  execFileSync('nsenter', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
