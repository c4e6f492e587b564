import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { failureOf, mountProblem } from '../programs/capabilities.ts'
import { findProgram } from '../programs/programs.ts'
import { endWithParent } from '../programs/server-process.ts'
import { waitUntil } from '../wait-until.ts'

// It blocks this process: a command that waits for a suspended server would never end.
const COMMAND_MS = 20_000

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
  const outside = `mf${process.pid}`
  const started: Holder[] = []
  async function start(): Promise<Holder> {
    const holder = await startMachine()
    started.push(holder)
    return holder
  }
  async function close(): Promise<void> {
    await Promise.all(started.map(({ end }) => end()))
    // The kernel removes the namespaces a moment later, and what is in them.
    await waitUntil(() => !existsSync(`/sys/class/net/${outside}`))
  }

  async function openHub() {
    const hub = await start()
    ip(hub, 'link add switch type bridge')
    ip(hub, 'link set switch up')
    plug(hub, 'outside', { into: process.pid, as: outside })
    execFileSync('ip', `link set ${outside} up`.split(' '))
    return hub
  }

  let addresses = 0
  /** One more address of this process. */
  function addAddress(): string {
    addresses += 1
    const address = `${subnet}.${100 + addresses}`
    execFileSync('ip', `addr add ${address}/24 dev ${outside}`.split(' '))
    return address
  }

  async function openMachine(hub: Holder, name: string, number: number) {
    const { pid } = await start()
    const address = `${subnet}.${number}`
    plug(hub, `to-${name}`, { into: pid, as: 'eth0' })
    ip({ pid }, `addr add ${address}/24 dev eth0`)
    ip({ pid }, 'link set eth0 up')
    const under = ['nsenter', '--target', `${pid}`, '--net', '--pid', '--mount']
    const run = (...command: string[]): string => {
      const [file = '', ...args] = [...under, ...command]
      const limit = { timeout: COMMAND_MS, killSignal: 'SIGKILL' } as const
      return execFileSync(file, args, {
        ...{ stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8', ...limit },
      })
    }
    let filters = 0
    return {
      name,
      address,
      /** The command line that runs a command there. */
      under,
      /** Runs a command there and returns its output. */
      run,
      /** Kills all its processes, as if it had lost power. */
      kill(): void {
        // The shell is killed, too.
        try {
          run('sh', '-c', 'kill -9 -1')
        } catch {}
      },
      /** Stops or resumes all its processes. There may be none. */
      signal: (name: 'STOP' | 'CONT') => void run('sh', '-c', `kill -${name} -1 || :`),
      /** Whether any of its processes is stopped. */
      isStopped: () => /\tT/.test(run('sh', '-c', 'grep -hs ^State: /proc/[0-9]*/status || :')),
      /** Drops packets; returns how to stop that, and how many were dropped. */
      filter({ peers, directions = ['in', 'out'], percent = 100 }: Filter): () => number {
        filters += 1
        const table = `inet filter${filters}`
        const chance = percent < 100 ? `numgen random mod 100 < ${percent}` : ''
        run('nft', `add table ${table}`)
        for (const direction of directions) {
          const [hook, field] = direction === 'in' ? ['input', 'saddr'] : ['output', 'daddr']
          run('nft', `add chain ${table} ${direction} { type filter hook ${hook} priority 0; }`)
          const packets = `ip ${field} { ${peers.join(', ')} } ${chance}`
          run('nft', `add rule ${table} ${direction} ${packets} counter drop`)
        }
        return () => {
          const dropped = sumOf(run('nft', `list table ${table}`), /packets (\d+)/g)
          run('nft', `delete table ${table}`)
          return dropped
        }
      },
      /** Limits what it sends; returns how to stop that, and how many packets had to wait. */
      throttle(rate: string): () => number {
        run('tc', ...`qdisc replace dev eth0 root tbf rate ${rate} burst 8kb latency 2s`.split(' '))
        return () => {
          const shown = run('tc', '-s', 'qdisc', 'show', 'dev', 'eth0')
          run('tc', 'qdisc', 'replace', 'dev', 'eth0', 'root', 'pfifo')
          return sumOf(shown, /overlimits (\d+)/g)
        }
      },
    }
  }

  try {
    const hub = await openHub()
    const host = addAddress()
    const opened = await Promise.all(
      names.map(async (name, at) => [name, await openMachine(hub, name, at + 2)] as const),
    )
    type Opened = Awaited<ReturnType<typeof openMachine>>
    const machines = Object.fromEntries(opened) as Record<Name, Opened>
    return { host, addAddress, machines, close }
  } catch (error) {
    await close()
    throw error
  }
}

function sumOf(text: string, count: RegExp): number {
  return [...text.matchAll(count)].reduce((sum, [, digits]) => sum + Number(digits), 0)
}

type Holder = Awaited<ReturnType<typeof startMachine>>

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
      if (holder.exitCode !== null || holder.signalCode !== null) return
      const ended = once(holder, 'exit')
      holder.kill('SIGKILL')
      await ended
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
