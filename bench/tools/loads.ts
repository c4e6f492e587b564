import { cpuOf } from './processes.ts'
import { figure, median, spread } from './stats.ts'
import { type Load, type Requesting, request } from './wrk.ts'

export interface Server {
  pid: number
  /** Of the database server behind it, if there is one. */
  storePid?: number
  url: string
}

export type Asking = Omit<Requesting, 'url'> & { path: string }

/** CPU: user and system seconds of the whole server for 1,000 requests. */
export type Outcome = Load & { cpuPerThousand: number; storeCpuPerThousand: number }

/** Asks one server for a while. */
export async function measure(server: Server, asking: Asking): Promise<Outcome> {
  const { path, ...rest } = asking
  const before = cpuOf(server)
  const found = await request({ ...rest, url: `${server.url}${path}` })
  const after = cpuOf(server)
  const perThousand = 1000 / (found.perSecond * asking.seconds)
  return {
    ...found,
    cpuPerThousand: (after.server - before.server) * perThousand,
    storeCpuPerThousand: (after.store - before.store) * perThousand,
  }
}

export function rate(list: readonly Outcome[] = []): number {
  return median(list.map(({ perSecond }) => perSecond))
}

export const COLUMNS = ['requests/s', 'p50 ms', 'p99 ms', 'CPU s per 1,000']

export function cells(list: readonly Outcome[]): string[] {
  return [
    spread(list.map(({ perSecond }) => perSecond)),
    figure(median(list.map(({ p50Ms }) => p50Ms))),
    figure(median(list.map(({ p99Ms }) => p99Ms))),
    figure(median(list.map(({ cpuPerThousand }) => cpuPerThousand))),
  ]
}
