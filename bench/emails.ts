import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import {
  measureRequests,
  medianRate,
  REQUEST_COLUMNS,
  type RequestOptions,
  type RequestResult,
  requestCells,
} from './tools/http-load.ts'
import { issueKey, UNLIMITED, unlimitedPlan } from './tools/keys.ts'
import { quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
} from './tools/report.ts'

// The cost of charging requests: /emails compared with check-mail, both with empty lists. A charge is committed before the
// response is sent.

const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 1 : 3
const CONNECTIONS = [32, 100]

interface Case extends Pick<RequestOptions, 'path' | 'headers'> {
  name: string
}

async function main(): Promise<void> {
  reportHeader('Charged requests: /emails', 'emails')
  say(
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s, alternating; wrk on the same machine, one thread, keep-alive connections, one key; one HTTP thread`,
    '- CPU: user and system seconds of the whole server per 1,000 requests.',
  )
  const folder = benchFolder()
  const data = folder.inside('data')
  const env = unlimitedPlan(folder.path)
  const mayfly = await startMayfly(data, env)
  const key = issueKey(UNLIMITED, { ...env, MAYFLY_DATA: data })
  const cases = await makeCases(mayfly, key)
  for (const connections of CONNECTIONS) await compare(mayfly, cases, connections)
  await mayfly.stop()
}

async function compare(mayfly: Mayfly, cases: readonly Case[], connections: number): Promise<void> {
  say('', `### ${connections} connections`)
  progress(`${connections} connections`)
  const results = await alternate<Case, RequestResult>(cases, ROUNDS, ({ name: _, ...options }) =>
    measureRequests(mayfly, { ...options, seconds: SECONDS, connections }),
  )
  const free = medianRate(results.get('check-mail'))
  reportTable(
    ['request', ...REQUEST_COLUMNS, 'of check-mail'],
    [...results].map(([name, list]) => [
      name,
      ...requestCells(list),
      figure(medianRate(list) / free),
    ]),
  )
  const paid = medianRate(results.get('/emails, charged')) / free
  reportGoal('/emails, empty: at least 0.4 of check-mail', paid, paid >= 0.4)
}

async function makeCases(mayfly: Mayfly, key: string): Promise<Case[]> {
  const { token } = await mayfly.session()
  const headers = { APIKey: key }
  const { headers: received, status } = await fetch(`${mayfly.url}/emails`, { headers })
  if (status !== 200) throw new Error(`/emails returned ${status}`)
  const conditional = { ...headers, 'If-None-Match': received.get('etag') ?? '' }
  return [
    { name: 'check-mail', path: `/api/check-mail?token=${token}` },
    { name: '/emails, charged', path: '/emails', headers },
    { name: '/emails?to=, charged', path: '/emails?to=nobody@pool.test', headers },
    { name: '/emails, unchanged (304, free)', path: '/emails', headers: conditional },
    { name: '/usage, free', path: '/usage', headers },
  ]
}

await main()
