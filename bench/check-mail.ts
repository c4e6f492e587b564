import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freeServicePorts } from '../test/kit/app/service-process.ts'
import { connectSmtp } from '../test/kit/smtp/smtp-client.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { mailText } from './tools/mail-text.ts'
import { against, quick } from './tools/options.ts'
import { benchFolder, cpuSeconds, requireProgram, startServer } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  p50AndP99,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// Rate and latency of polling and reading, compared with a route that returns a prebuilt response. `--against FOLDER` also
// compares another checkout with that route.

const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 1 : 2
const CONNECTIONS = 32

async function main(): Promise<void> {
  reportHeader('Polling check-mail', 'check-mail', against)
  say(
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s, alternating; wrk on the same machine, one thread, ${CONNECTIONS} keep-alive connections`,
    '- constant: `node:http` in a separate single-threaded process, with a prebuilt body of the same size (none for 304). mayfly: one HTTP thread.',
    '- CPU: user and system seconds of the whole server per 1,000 requests.',
  )
  const folder = benchFolder()
  const mayfly = await startMayfly(folder.inside('mayfly'))
  await compareWithConstant(mayfly, folder.path)
  await measureFirstPoll(mayfly)
  await mayfly.stop()
}

async function compareWithConstant(mayfly: Mayfly, folder: string): Promise<void> {
  say('', '### Compared with the constant route')
  const other = against && (await startMayfly(`${folder}/against`, {}, { root: against }))
  const services = [
    { ...mayfly, name: 'mayfly', cases: await requestCases(mayfly) },
    ...(other ? [{ ...other, name: 'against', cases: await requestCases(other) }] : []),
  ]
  const cases = services[0]?.cases ?? []
  const constant = await startConstant(cases, mayfly, folder)
  const rows: string[][] = []
  const ratios: [string, number][] = []
  for (const [index, { name: caseName, headers = {} }] of cases.entries()) {
    progress(`constant route: ${caseName}`)
    const prebuilt = { ...constant, cases: cases.map((_, at) => ({ path: `/${at}`, headers })) }
    const results = await alternate([prebuilt, ...services], ROUNDS, (server) =>
      load(server, { name: caseName, path: '', ...server.cases[index] }),
    )
    const rateOf = (name: string) =>
      median((results.get(name) ?? []).map(({ perSecond }) => perSecond))
    const ratio = (name: string) => rateOf(name) / rateOf('constant')
    ratios.push([caseName, ratio('mayfly')])
    for (const [name, list] of results)
      rows.push([caseName, name, ...requestCells(list), figure(ratio(name))])
  }
  const columns = ['requests/s', 'p50 ms', 'p99 ms', 'CPU s per 1,000', 'of constant']
  reportTable(['case', 'server', ...columns], rows)
  for (const [name, ratio] of ratios) {
    const least = name === READ_MAIL ? 0.5 : 0.75
    reportGoal(`${name}: at least ${least} of the constant route`, ratio, ratio >= least)
  }
  await constant.stop()
  if (other) await other.stop()
}

const READ_MAIL = 'read-mail, 4 KB'

/** Requests that are served from memory after the first. */
async function requestCases(mayfly: Mayfly): Promise<PollCase[]> {
  const [empty, full] = [await mayfly.session(), await mayfly.session()]
  const smtp = await connectSmtp(mayfly.smtpPort)
  for (let sent = 0; sent < 10; sent += 1) {
    await smtp.send({ to: [full.email], raw: mailText(4096) })
  }
  smtp.close()
  const list = `/api/check-mail?token=${full.token}`
  // Until every message has been scanned for codes, lists are not cached.
  await pause(2_000)
  const response = await fetch(`${mayfly.url}${list}`)
  const etag = response.headers.get('etag') ?? ''
  const { messages } = (await response.json()) as { messages: { id: number }[] }
  return [
    { name: 'empty', path: `/api/check-mail?token=${empty.token}` },
    { name: '10 messages', path: list },
    { name: 'unchanged (304)', path: list, headers: { 'If-None-Match': etag } },
    { name: READ_MAIL, path: `/api/read-mail?token=${full.token}&id=${messages[0]?.id}` },
  ]
}

async function startConstant(cases: readonly PollCase[], mayfly: Mayfly, folder: string) {
  const constants = await Promise.all(
    cases.map(async ({ path, headers = {} }, index) => {
      const response = await fetch(`${mayfly.url}${path}`, { headers })
      const body = await response.text()
      progress(`  ${path.slice(0, 20)}…: ${response.status}, ${body.length} bytes`)
      const type: Record<string, string> = body ? { 'content-type': 'application/json' } : {}
      return { path: `/${index}`, status: response.status, headers: type, body }
    }),
  )
  const file = join(folder, 'constants.json')
  writeFileSync(file, JSON.stringify(constants))
  const { http: port } = await freeServicePorts()
  const route = new URL('contestants/constant-route.ts', import.meta.url)
  const server = await startServer(route, [String(port), file])
  return { ...server, name: 'constant', url: `http://127.0.0.1:${port}` }
}

/** One client sends a mail, then polls three times; only the polls are timed. */
async function measureFirstPoll(mayfly: Mayfly): Promise<void> {
  say('', '### First poll after a new mail (not cached)')
  const { email, token } = await mayfly.session()
  const path = (limit: number) => `${mayfly.url}/api/check-mail?token=${token}&limit=${limit}`
  const smtp = await connectSmtp(mayfly.smtpPort)
  const raw = mailText(2_000)
  const [first, parsed, repeated] = [[], [], []] as [number[], number[], number[]]
  for (let sent = 0; sent < (quick ? 200 : 2_000); sent += 1) {
    const { code } = await smtp.send({ to: [email], raw })
    if (code !== 250) throw new Error(`mail rejected with ${code}`)
    first.push(await timePoll(path(10)))
    // A list of another length is cached separately.
    parsed.push(await timePoll(path(11)))
    repeated.push(await timePoll(path(10)))
  }
  smtp.close()
  const rows = [
    ['first after a new mail, which it has parsed', ...p50AndP99(first)],
    ['first after a new mail, parsed already', ...p50AndP99(parsed)],
    ['repeated, cached', ...p50AndP99(repeated)],
  ]
  reportTable(['poll, sequential', 'p50 ms', 'p99 ms'], rows)
  const middle = median(parsed)
  reportGoal('first poll without parsing: median under 1 ms', middle, middle < 1)
}

async function timePoll(url: string): Promise<number> {
  const start = performance.now()
  const response = await fetch(url)
  await response.text()
  return performance.now() - start
}

interface PollCase {
  name: string
  path: string
  headers?: Record<string, string>
}

interface RequestResult {
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** User and system seconds, including threads and child processes. */
  cpuPerThousand: number
}

const execute = promisify(execFile)

/** Full load on keep-alive connections. Throws on any response other than 2xx or 3xx. */
async function load(
  { pid, url: base }: { pid: number; url: string },
  { path, headers = {} }: PollCase,
): Promise<RequestResult> {
  const url = `${base}${path}`
  const before = cpuSeconds(pid)
  const { stdout } = await execute(requireProgram('wrk', 'wrk'), [
    ...['--latency', '-t', '1', '-c', String(CONNECTIONS), '-d', `${SECONDS}s`],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    url,
  ])
  const cpu = cpuSeconds(pid) - before
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${url} returned errors:\n${stdout}`)
  const perSecond = Number(matchIn(stdout, /Requests\/sec:\s+([\d.]+)/))
  return {
    perSecond,
    p50Ms: milliseconds(matchIn(stdout, /^ *50%\s+(\S+)/m)),
    p99Ms: milliseconds(matchIn(stdout, /^ *99%\s+(\S+)/m)),
    cpuPerThousand: (cpu * 1000) / (perSecond * SECONDS),
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

function requestCells(list: readonly RequestResult[]): string[] {
  return [
    spread(list.map(({ perSecond }) => perSecond)),
    figure(median(list.map(({ p50Ms }) => p50Ms))),
    figure(median(list.map(({ p99Ms }) => p99Ms))),
    figure(median(list.map(({ cpuPerThousand }) => cpuPerThousand))),
  ]
}

await main()
