import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startMayfly } from './contestants/mayfly.ts'
import { fill, MESSAGES_EACH } from './tools/fill.ts'
import { quick } from './tools/options.ts'
import { benchFolder, cpuSeconds, memoryOf } from './tools/processes.ts'
import { proxiedClient, TRUST_LOOPBACK } from './tools/proxied-client.ts'
import {
  figure,
  p50AndP99,
  percentile,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
} from './tools/report.ts'
import { HELD_KINDS, type HeldKind, holdConnections } from './tools/start-flood.ts'
import { type Latencies, mergeLatencies, OPERATIONS, openVictim } from './tools/victim.ts'

// Latency of other clients and memory of the service while thousands of connections are open.

const COUNTS: Record<HeldKind, number> = quick
  ? { idle: 200, slow: 100, streams: 300 }
  : { idle: 5_000, slow: 2_000, streams: 8_000 }
const SECONDS = quick ? 2 : 12
const SETTLE_SECONDS = quick ? 1 : 3
const VICTIMS = 4
const MAX_P99_MS = 100

const LOADS: { name: string; kinds: readonly HeldKind[] }[] = [
  { name: 'none', kinds: [] },
  { name: `${figure(COUNTS.idle)} idle SMTP connections`, kinds: ['idle'] },
  { name: `${figure(COUNTS.slow)} slow SMTP connections`, kinds: ['slow'] },
  { name: `${figure(COUNTS.streams)} event streams`, kinds: ['streams'] },
  { name: 'all together', kinds: HELD_KINDS },
]

interface Result {
  name: string
  latencies: Latencies
  cpuCores: number
  connections: number
  /** Before and after the connections were opened. */
  pssMb: [number, number]
  closed: number
}

async function main(): Promise<void> {
  reportHeader('Open connections', 'connections')
  say(
    `- Settings: default limits and threads on SQLite, each load on a fresh service; loopback is trusted as a proxy (${Object.keys(TRUST_LOOPBACK).join(', ')}), so that each client address holds ten connections; the limit on open files must allow for all of them (\`ulimit -n\` of at least 20,000)`,
    '- Slow: every 4 s, half of them send one byte of a command, the others 3 KB of a mail. Streams: each of another mailbox with ten messages. Each kind is held by a process of its own, on the same machine.',
    `- Meanwhile ${VICTIMS} other clients send, list and read about 6 mails a second each for ${SECONDS} s, with a new connection for every step. intake: from connect to 250; stream: from the last byte of DATA to the event.`,
    `- Memory: PSS of all processes of the service before, and ${SETTLE_SECONDS} s after all connections are open, during these mails. CPU: cores used by the service.`,
  )
  const folder = benchFolder()
  const filled = folder.inside('filled')
  fill(filled, COUNTS.streams * MESSAGES_EACH, { mailBytes: 1_000 })
  const results: Result[] = []
  for (const load of LOADS) {
    progress(load.name)
    const copy = join(folder.path, String(results.length))
    cpSync(filled, copy, { recursive: true })
    results.push(await measure(load, copy))
    rmSync(copy, { recursive: true })
  }
  reportTable(
    ['load', ...OPERATIONS.flatMap((name) => [`${name} p50 ms`, 'p99']), 'mails', 'failed', 'CPU'],
    results.map(({ name, latencies, cpuCores }) => [
      name,
      ...OPERATIONS.flatMap((operation) => p50AndP99(latencies[operation])),
      String(latencies.intake.length),
      String(latencies.failed),
      figure(cpuCores),
    ]),
  )
  reportTable(
    ['load', 'PSS before MB', 'PSS MB', 'KB per connection', 'closed by the server'],
    results.map(({ name, pssMb: [before, after], connections, closed }) => [
      name,
      figure(before),
      figure(after),
      connections === 0 ? '-' : figure(((after - before) * 1024) / connections),
      String(closed),
    ]),
  )
  for (const { name, latencies } of results) {
    for (const operation of ['intake', 'check-mail'] as const) {
      const p99 = percentile(latencies[operation], 0.99)
      reportGoal(`${name}: p99 of ${operation} under ${MAX_P99_MS} ms`, p99, p99 < MAX_P99_MS)
    }
  }
}

async function measure({ name, kinds }: (typeof LOADS)[number], folder: string): Promise<Result> {
  const service = await startMayfly(folder, {
    MAYFLY_RATE_LIMITS: 'on',
    MAYFLY_SESSION_MAX_MESSAGES: '1000',
    MAYFLY_SESSION_MAX_BYTES: '100MB',
    MAYFLY_HTTP_THREADS: 'auto',
    MAYFLY_SMTP_THREADS: 'auto',
    ...TRUST_LOOPBACK,
  })
  const victims = await Promise.all(
    Array.from({ length: VICTIMS }, (_, number) =>
      openVictim(proxiedClient(`198.51.100.${number + 1}`, service)),
    ),
  )
  await Promise.all(victims.map((victim) => victim.measure(SETTLE_SECONDS)))
  const before = memoryOf(service.pid).pssMb
  const held = []
  for (const kind of kinds) held.push(await holdConnections(kind, COUNTS[kind], service))
  await pause(SETTLE_SECONDS * 1000)
  const [cpu, start] = [cpuSeconds(service.pid), performance.now()]
  const all = await Promise.all(victims.map((victim) => victim.measure(SECONDS)))
  const seconds = (performance.now() - start) / 1000
  const cpuCores = (cpuSeconds(service.pid) - cpu) / seconds
  const after = memoryOf(service.pid).pssMb
  let closed = 0
  for (const load of held) closed += (await load.stop())['closed'] ?? 0
  for (const victim of victims) victim.close()
  await service.kill()
  return {
    name,
    latencies: mergeLatencies(all),
    cpuCores,
    connections: kinds.reduce((sum, kind) => sum + COUNTS[kind], 0),
    pssMb: [before, after],
    closed,
  }
}

await main()
