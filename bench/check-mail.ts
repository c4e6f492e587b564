import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freeServicePorts } from '../test/support/service-process.ts'
import { connectSmtp } from '../test/support/smtp-client.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { fill, tokenOf } from './tools/fill.ts'
import {
  cachedPolls,
  ifNoneMatch,
  measureRequests,
  medianRate,
  type PollCase,
  REQUEST_COLUMNS,
  type RequestResult,
  requestCells,
  type Server,
  uncachedPolls,
} from './tools/http-load.ts'
import { mailsFor, sendMails } from './tools/intake.ts'
import { mailText, writeMail } from './tools/mail-text.ts'
import { against, options, quick } from './tools/options.ts'
import { benchFolder, startServer } from './tools/processes.ts'
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

// Rate and latency of polling and reading, compared with a route that returns a prebuilt response, and with a hundred times as
// much stored mail; and what previews cost. `--against FOLDER` also compares another checkout with that route. `--part previews`
// measures only those.

const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 1 : 2
const CONNECTIONS = 32
const FEW = quick ? 1_000 : 10_000
const MANY = quick ? 20_000 : 1_000_000

async function main(): Promise<void> {
  reportHeader('Polling check-mail', 'check-mail', against)
  say(
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s, alternating; wrk on the same machine, one thread, ${CONNECTIONS} keep-alive connections`,
    '- constant: `node:http` in a separate single-threaded process, with a prebuilt body of the same size (none for 304). mayfly: one HTTP thread.',
    '- CPU: user and system seconds of the whole server per 1,000 requests.',
  )
  const folder = benchFolder()
  await comparePreviews(folder)
  if (options.part?.includes('previews')) return
  const [few, many] = [FEW, MANY].map((messages) => {
    progress(`filling the store with ${figure(messages)} messages`)
    const path = folder.inside(String(messages))
    return { path, messages, ...fill(path, messages) }
  })
  if (!few || !many) throw new Error('unreachable: two stores')
  const small = await startMayfly(few.path)
  const large = await startMayfly(many.path)
  await compareWithConstant(small, folder.path)
  await measureFirstPoll(small)
  await compareSizes([small, large], [few, many], folder.path)
  await small.stop()
  await large.stop()
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
    const ratio = (name: string) =>
      medianRate(results.get(name)) / medianRate(results.get('constant'))
    ratios.push([caseName, ratio('mayfly')])
    for (const [name, list] of results)
      rows.push([caseName, name, ...requestCells(list), figure(ratio(name))])
  }
  reportTable(['case', 'server', ...REQUEST_COLUMNS, 'of constant'], rows)
  for (const [name, ratio] of ratios) {
    const least = name === READ_MAIL ? 0.5 : 0.8
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
  const { messages } = (await (await fetch(`${mayfly.url}${list}`)).json()) as {
    messages: { id: number }[]
  }
  return [
    { name: 'empty', path: `/api/check-mail?token=${empty.token}` },
    { name: '10 messages', path: list },
    { name: 'unchanged (304)', path: list, headers: await ifNoneMatch(mayfly, list) },
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

/** Lists of ten messages with previews of 120 characters, and the same with empty ones. */
async function comparePreviews(folder: ReturnType<typeof benchFolder>): Promise<void> {
  say('', '### Previews')
  const contestants = await Promise.all(
    (['without', 'with'] as const).map(async (name) => {
      const path = folder.inside(`${name}-previews`)
      const { sessions } = fill(path, FEW, name === 'with' ? {} : { preview: '' })
      const mayfly = await startMayfly(path)
      const [, list, unchanged] = await cachedPolls(mayfly)
      const fromStore = uncachedPolls(sessions, join(folder.path, `${name}-paths`))
      return { ...mayfly, name, cases: [list, unchanged, fromStore] }
    }),
  )
  const rows: string[][] = []
  for (const index of [0, 1, 2]) {
    const caseName = contestants[0]?.cases[index]?.name ?? ''
    progress(`previews: ${caseName}`)
    const results = await alternate(contestants, ROUNDS, (server) =>
      load(server, server.cases[index]),
    )
    const ratio = medianRate(results.get('with')) / medianRate(results.get('without'))
    for (const [name, list] of results) {
      rows.push([caseName, name, ...requestCells(list), name === 'with' ? figure(ratio) : ''])
    }
  }
  reportTable(['case', 'previews', ...REQUEST_COLUMNS, 'of without'], rows)
  for (const { stop } of contestants) await stop()
}

interface Store {
  messages: number
  sessions: number
}

async function compareSizes(
  servers: readonly [Mayfly, Mayfly],
  stores: readonly [Store, Store],
  folder: string,
): Promise<void> {
  const names = stores.map(({ messages }) => `${messages.toLocaleString('en-US')} stored`)
  say('', `### ${names.join(' and ')}`)
  const rows: string[][] = []
  const ratios: [string, number][] = []
  const [fewCases, manyCases] = await Promise.all(
    servers.map(async (server, index) => [
      ...(await cachedPolls(server)),
      uncachedPolls(stores[index]?.sessions ?? 0, join(folder, `paths-${index}`)),
    ]),
  )
  for (const [index, { name }] of (fewCases ?? []).entries()) {
    progress(`store size: ${name}`)
    const contestants = servers.map((server, at) => ({ ...server, name: names[at] ?? '', at }))
    const results = await alternate(contestants, ROUNDS, (server) =>
      load(server, (server.at === 0 ? fewCases : manyCases)?.[index]),
    )
    const [few = [], many = []] = results.values()
    ratios.push([`polls, ${name}`, medianRate(many) / medianRate(few)])
    for (const [size, list] of results) rows.push([name, size, ...requestCells(list)])
  }
  reportTable(['case', 'store', ...REQUEST_COLUMNS], rows)
  ratios.push(['intake, 4 KB, reused connections', await compareIntake(servers, names, folder)])
  for (const [name, ratio] of ratios) {
    reportGoal(`${name}: ${names[1]} within 15 % of ${names[0]}`, ratio, ratio >= 0.85)
  }
  await pollEverySession(servers[1], stores[1], folder)
}

async function pollEverySession(
  server: Mayfly,
  { sessions }: Store,
  folder: string,
): Promise<void> {
  const file = join(folder, 'every-session')
  const lines = Array.from(
    { length: sessions },
    (_, number) => `/api/check-mail?token=${tokenOf((number * 7_919) % sessions)}`,
  )
  writeFileSync(file, lines.join('\n'))
  const results = await alternate([{ ...server, name: 'mayfly' }], ROUNDS, (one) =>
    load(one, { name: '', path: '/', paths: file }),
  )
  const name = `${sessions.toLocaleString('en-US')} sessions round-robin, 10 messages each`
  reportTable(['case', ...REQUEST_COLUMNS], [[name, ...requestCells(results.get('mayfly') ?? [])]])
}

async function compareIntake(
  servers: readonly Mayfly[],
  names: readonly string[],
  folder: string,
): Promise<number> {
  const file = writeMail(join(folder, 'mail'), 4096)
  const contestants = servers.map((server, at) => ({ ...server, name: names[at] ?? '' }))
  const results = await alternate(contestants, ROUNDS, async ({ smtpPort, session }) =>
    sendMails({
      port: smtpPort,
      to: (await session()).email,
      mails: mailsFor(SECONDS, 2_000, 20),
      senders: 20,
      reuse: true,
      file,
    }),
  )
  const [few = [], many = []] = results.values()
  reportTable(
    ['intake, 4 KB, reused connections, 20 senders', 'mails/s'],
    [...results].map(([name, list]) => [name, spread(list)]),
  )
  return median(many) / median(few)
}

function load(server: Server, one: PollCase | undefined): Promise<RequestResult> {
  if (!one) throw new Error('unreachable: the stores have the same cases')
  return measureRequests(server, { ...one, seconds: SECONDS, connections: CONNECTIONS })
}

await main()
