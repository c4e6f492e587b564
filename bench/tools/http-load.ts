import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Mayfly } from '../contestants/mayfly.ts'
import { tokenOf } from './fill.ts'
import { cpuOf, requireProgram } from './processes.ts'
import { figure, median, percentile, spread } from './report.ts'

const execute = promisify(execFile)

export interface LoadOptions {
  url: string
  seconds: number
  connections: number
  headers?: Record<string, string>
  /** A file with one path per line, requested round-robin instead of the URL's own path. */
  paths?: string
}

export interface LoadResult {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Full load on keep-alive connections. Throws on any response other than 2xx or 3xx. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { url, seconds, connections, headers = {}, paths } = options
  const script = fileURLToPath(new URL('paths.lua', import.meta.url))
  const { stdout } = await execute(requireProgram('wrk', 'wrk'), [
    ...['--latency', '-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    ...(paths ? ['-s', script, url, '--', paths] : [url]),
  ])
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${url} returned errors:\n${stdout}`)
  return {
    perSecond: Number(matchIn(stdout, /Requests\/sec:\s+([\d.]+)/)),
    p50Ms: milliseconds(matchIn(stdout, /^ *50%\s+(\S+)/m)),
    p99Ms: milliseconds(matchIn(stdout, /^ *99%\s+(\S+)/m)),
  }
}

function matchIn(text: string, pattern: RegExp): string {
  const value = pattern.exec(text)?.[1]
  if (value === undefined) throw new Error(`unexpected output of wrk:\n${text}`)
  return value
}

const UNITS = { us: 0.001, ms: 1, s: 1000, m: 60_000 } as const

function milliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(text) ?? []
  if (!unit) throw new Error(`unexpected time in the output of wrk: ${text}`)
  return Number(number) * UNITS[unit as keyof typeof UNITS]
}

export interface Server {
  pid: number
  /** Of its database server, if any. */
  storePid?: number
  url: string
}

export type RequestOptions = Omit<LoadOptions, 'url'> & { path: string }

/** CPU: user and system seconds per 1,000 requests, including threads and child processes. */
export type RequestResult = LoadResult & { cpuPerThousand: number; storeCpuPerThousand: number }

export async function measureRequests(
  server: Server,
  options: RequestOptions,
): Promise<RequestResult> {
  const { path, ...load } = options
  const before = cpuOf(server)
  const result = await runLoad({ ...load, url: `${server.url}${path}` })
  const after = cpuOf(server)
  const perThousand = 1000 / (result.perSecond * options.seconds)
  return {
    ...result,
    cpuPerThousand: (after.server - before.server) * perThousand,
    storeCpuPerThousand: (after.store - before.store) * perThousand,
  }
}

export function medianRate(list: readonly RequestResult[] = []): number {
  return median(list.map(({ perSecond }) => perSecond))
}

export const REQUEST_COLUMNS = ['requests/s', 'p50 ms', 'p99 ms', 'CPU s per 1,000']

export function requestCells(list: readonly RequestResult[]): string[] {
  return [
    spread(list.map(({ perSecond }) => perSecond)),
    figure(median(list.map(({ p50Ms }) => p50Ms))),
    figure(median(list.map(({ p99Ms }) => p99Ms))),
    figure(median(list.map(({ cpuPerThousand }) => cpuPerThousand))),
  ]
}

export type PollCase = Pick<RequestOptions, 'path' | 'paths' | 'headers'> & { name: string }

/** Polls of one unchanged mailbox: after the first, the list comes from the cache. */
export async function cachedPolls(mayfly: Mayfly): Promise<PollCase[]> {
  const { token: empty } = await mayfly.session()
  const path = pollPath(tokenOf(0))
  return [
    { name: 'empty', path: pollPath(empty) },
    { name: '10 messages', path },
    { name: 'unchanged (304)', path, headers: await ifNoneMatch(mayfly, path) },
  ]
}

export async function ifNoneMatch({ url }: Mayfly, path: string): Promise<Record<string, string>> {
  const { headers } = await fetch(`${url}${path}`)
  return { 'If-None-Match': headers.get('etag') ?? '' }
}

/** Polls of 1,000 mailboxes spread over the store: each list is built once. */
export function roundRobinPolls(sessions: number, file: string): PollCase {
  writeFileSync(file, tokensOf(sessions).map(pollPath).join('\n'))
  return { name: '1,000 mailboxes round-robin, 10 messages', path: '/', paths: file }
}

/** Polls of the same mailboxes, each with a `limit` whose list is not cached. */
export function uncachedPolls(sessions: number, file: string): PollCase {
  const paths = tokensOf(sessions).map(pollPath)
  const lines: string[] = []
  for (let limit = 101; limit <= 500; limit += 1) {
    for (const path of paths) lines.push(`${path}&limit=${limit}`)
  }
  writeFileSync(file, lines.join('\n'))
  return { name: '10 messages, read from the store', path: '/', paths: file }
}

function tokensOf(sessions: number): string[] {
  const length = Math.min(sessions, 1_000)
  return Array.from({ length }, (_, index) => tokenOf(Math.floor((index * sessions) / length)))
}

export function pollPath(token: string): string {
  return `/api/check-mail?token=${token}`
}

/** Requests each path once on a few keep-alive connections. Throws on any status other than 200. */
export async function requestEach(
  server: Server,
  paths: readonly string[],
  connections = 16,
): Promise<RequestResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const pending = paths.values()
  const times: number[] = []
  const before = cpuOf(server)
  const start = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (const path of pending) times.push(await timeGet(`${server.url}${path}`, agent))
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const after = cpuOf(server)
  agent.destroy()
  return {
    perSecond: times.length / seconds,
    p50Ms: median(times),
    p99Ms: percentile(times, 0.99),
    cpuPerThousand: ((after.server - before.server) * 1000) / times.length,
    storeCpuPerThousand: ((after.store - before.store) * 1000) / times.length,
  }
}

function timeGet(url: string, agent: Agent): Promise<number> {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`))
      response.on('end', () => resolve(performance.now() - start)).on('error', reject)
      response.resume()
    }).on('error', reject)
  })
}
