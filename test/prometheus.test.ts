import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { BOUNDS } from '../src/base/metrics.ts'
import { type App, startApp } from './kit/app/app.ts'
import { request } from './kit/http/http-client.ts'
import { dashboardQueries, PROMETHEUS, readAlerts } from './kit/http/monitoring-files.ts'
import { freePort, startServer } from './kit/programs/server-process.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// Debian's Prometheus with the files of deploy/. Its package is unpacked, not installed: nothing else needs it.

const UNPACKED = fileURLToPath(new URL('../node_modules/.cache/mayfly-prometheus', import.meta.url))
const TOKEN = 'token-of-the-operator'
const ALERTS = readAlerts()

function debianProgram(name: 'prometheus' | 'promtool'): string {
  const path = join(UNPACKED, 'usr/bin', name)
  if (existsSync(path)) return path
  mkdirSync(UNPACKED, { recursive: true })
  execFileSync('apt-get', ['-qq', 'download', 'prometheus'], { cwd: UNPACKED })
  const [file = ''] = globSync('prometheus_*.deb', { cwd: UNPACKED })
  execFileSync('dpkg', ['-x', file, '.'], { cwd: UNPACKED })
  return path
}

function promtool(args: string[], options: { cwd?: string; input?: string } = {}) {
  return spawnSync(debianProgram('promtool'), args, { encoding: 'utf8', ...options })
}

const folder = tempFolder()
let app: App
beforeAll(async () => {
  cpSync(PROMETHEUS, folder.path, { recursive: true })
  writeFileSync(join(folder.path, 'admin-token'), TOKEN)
  app = await startApp({ env: { MAYFLY_ADMIN_TOKEN: TOKEN } })
  const { email, token } = await app.session()
  expect(await app.mail(email)).toBe(250)
  await request(`${app.url}/api/check-mail?token=${token}`)
})
afterAll(async () => {
  await app.stop()
  folder.remove()
})

test('the configuration is valid', () => {
  const { status, stderr, stdout } = promtool(['check', 'config', 'prometheus.yml'], {
    cwd: folder.path,
  })
  expect(status, stderr + stdout).toBe(0)
})

test('the metrics follow the naming conventions', async () => {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const { text } = await request(`${app.url}/metrics`, { headers })
  const { status, stderr, stdout } = promtool(['check', 'metrics'], { input: text })
  expect(status, stderr + stdout).toBe(0)
})

describe('alerts', () => {
  const GB = 1024 ** 3
  /** Ten a minute that take this long. */
  const bucket = (metric: string, labels: string, seconds: number): Series =>
    Object.fromEntries(
      [...BOUNDS, Number.POSITIVE_INFINITY].map((bound) => [
        `${metric}_bucket{${labels},le="${Number.isFinite(bound) ? bound : '+Inf'}"}`,
        seconds <= bound ? '0+10x180' : '0x180',
      ]),
    )

  /** By series, the values of each minute of three hours. */
  type Series = Record<string, string>
  const HEALTHY: Series = {
    'up{job="mayfly",instance="a"}': '1x180',
    'mayfly_ready{instance="a"}': '1x180',
    'mayfly_smtp_mails_total{instance="a",outcome="stored"}': '0+50x180',
    'mayfly_smtp_mails_total{instance="a",outcome="fault"}': '0x180',
    // A fault of two hours ago, and one before a restart.
    'mayfly_smtp_refused_recipients_total{instance="a",reason="fault"}': '0x49 1x130',
    'mayfly_smtp_refused_recipients_total{instance="a",reason="unavailable"}': '1x60 0x119',
    'mayfly_smtp_refused_recipients_total{instance="a",reason="unknown"}': '0+50x180',
    'mayfly_smtp_connections_total{instance="a",start="too_many_connections"}': '0+50x180',
    'mayfly_smtp_mails_total{instance="a",outcome="full"}': '0+50x180',
    'mayfly_smtp_refused_senders_total{instance="a",reason="too_many_mails"}': '0+50x180',
    'mayfly_disk_free_bytes{instance="a"}': `${20 * GB}x180`,
    'mayfly_disk_min_free_bytes{instance="a"}': `${GB}x180`,
    'mayfly_smtp_certificate_expiry_timestamp_seconds{instance="a"}': `${90 * 86_400}x180`,
    ...bucket('mayfly_store_commit_seconds', 'instance="a",store="mail"', 0.3),
    ...bucket('mayfly_smtp_command_seconds', 'instance="a",command="DATA"', 1.1),
    'mayfly_sweep_lag_seconds{instance="a"}': '70x180',
    'mayfly_http_requests_total{instance="a",route="/api/domains",status="2xx"}': '0+10x180',
    'mayfly_http_requests_total{instance="a",route="/api/domains",status="5xx"}': '0x180',
    'mayfly_http_requests_total{instance="a",route="/livez",status="2xx"}': '0+100x180',
    // HAProxy asks while the node is not ready.
    'mayfly_http_requests_total{instance="a",route="/readyz",status="5xx"}': '0+100x180',
    'mayfly_parse_waiting{instance="a"}': '20x180',
    'mayfly_http_waiting{instance="a"}': '500x180',
    'mayfly_http_max_waiting{instance="a"}': '5000x180',
    'mayfly_webhook_attempts_total{instance="a",result="2xx"}': '0+10x180',
    'mayfly_webhook_attempts_total{instance="a",result="timeout"}': '0+1x180',
    'mayfly_gmail_accounts{instance="a",health="failing"}': '0x180',
    'mayfly_backup_last_success_timestamp_seconds{instance="a"}': '-80000x180',
    'mayfly_check_status{instance="a",check="mx",subject="box.test"}': '1x180',
    // One of two nodes has not read the last run yet.
    'mayfly_checks_last_run_timestamp_seconds{instance="a"}': '-80000x180',
    'mayfly_checks_last_run_timestamp_seconds{instance="b"}': '-240000x180',
  }
  /** What differs, by the alert that fires then. */
  const FAULTS: Record<string, Series> = {
    MayflyDown: { 'up{job="mayfly",instance="a"}': '0x180' },
    MayflyNotReady: { 'mayfly_ready{instance="a"}': '0x180' },
    // One attempt in half an hour.
    MayflyMailDeferred: { 'mayfly_smtp_mails_total{instance="a",outcome="fault"}': '0x149 1x30' },
    MayflyDiskLow: { 'mayfly_disk_free_bytes{instance="a"}': `${1.5 * GB}x180` },
    MayflyCertificateExpires: {
      'mayfly_smtp_certificate_expiry_timestamp_seconds{instance="a"}': `${10 * 86_400}x180`,
    },
    MayflyCertificateNotRenewed: {
      'mayfly_certificate_expiry_timestamp_seconds{instance="a",name="box.test"}': `${10 * 86_400}x180`,
    },
    MayflySlowCommits: bucket('mayfly_store_commit_seconds', 'instance="a",store="mail"', 0.7),
    MayflySlowIntake: bucket('mayfly_smtp_command_seconds', 'instance="a",command="DATA"', 3),
    MayflySweepLags: { 'mayfly_sweep_lag_seconds{instance="a"}': '3600x180' },
    MayflyRequestErrors: {
      'mayfly_http_requests_total{instance="a",route="/api/domains",status="5xx"}': '0+1x180',
    },
    MayflyParseQueue: { 'mayfly_parse_waiting{instance="a"}': '900x180' },
    MayflyTooManyWaiting: { 'mayfly_http_waiting{instance="a"}': '4500x180' },
    MayflyWebhooksFail: {
      'mayfly_webhook_attempts_total{instance="a",result="timeout"}': '0+100x180',
    },
    MayflyGmailFails: { 'mayfly_gmail_accounts{instance="a",health="failing"}': '1x180' },
    MayflyBackupStale: {
      'mayfly_backup_last_success_timestamp_seconds{instance="a"}': '-180000x180',
    },
    MayflyChecksStale: {
      'mayfly_checks_last_run_timestamp_seconds{instance="a"}': '-180000x180',
    },
    MayflyCheckFails: {
      'mayfly_check_status{instance="a",check="mx",subject="box.test"}': '2x180',
      'mayfly_check_status{instance="b",check="mx",subject="box.test"}': '2x180',
    },
  }

  function run(series: Series, firing: string | undefined) {
    const expected = firing ? [{ labels: `{alertname="${firing}"}`, value: 1 }] : []
    const tests = {
      rule_files: ['alerts.yml'],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          promql_expr_test: [
            {
              expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
              eval_time: '170m',
              exp_samples: expected,
            },
          ],
        },
      ],
    }
    writeFileSync(join(folder.path, 'alerts-test.yml'), stringify(tests))
    const { status, stdout, stderr } = promtool(['test', 'rules', 'alerts-test.yml'], {
      cwd: folder.path,
    })
    expect(status, stdout + stderr).toBe(0)
  }

  test('none fires for a healthy node', () => run(HEALTHY, undefined))

  test.each(ALERTS.map(({ alert }) => alert))('%s fires for its fault, and no other', (alert) => {
    const fault = FAULTS[alert]
    expect(fault, 'a case for every alert').toBeTruthy()
    run({ ...HEALTHY, ...fault }, alert)
  })

  test.each([
    'mayfly_smtp_refused_senders_total{instance="a",reason="no_space"}',
    'mayfly_smtp_refused_recipients_total{instance="a",reason="fault"}',
    'mayfly_smtp_connections_total{instance="a",start="fault"}',
  ])('a sender deferred before DATA, once in half an hour, is noticed: %s', (sample) => {
    run({ ...HEALTHY, [sample]: '0x149 1x30' }, 'MayflyMailDeferred')
  })
})

test('a real Prometheus scrapes a service, evaluates the alerts and answers every panel', async () => {
  const port = await freePort()
  const config = readFileSync(join(folder.path, 'prometheus.yml'), 'utf8')
    .replaceAll('15s', '1s')
    .replace('127.0.0.1:8080', `127.0.0.1:${app.httpPort}`)
  writeFileSync(join(folder.path, 'prometheus.yml'), config)
  const own = tempFolder()
  const server = await startServer({
    command: [
      debianProgram('prometheus'),
      `--config.file=${join(folder.path, 'prometheus.yml')}`,
      `--storage.tsdb.path=${own.path}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    folder: own.path,
    ready: /Server is ready to receive web requests/,
  })
  onTestFinished(() => {
    server.kill('SIGKILL')
    own.remove()
  })
  const api = async (path: string) => {
    const { status, body } = await request(`http://127.0.0.1:${port}/api/v1/${path}`)
    expect(status, `${path}: ${JSON.stringify(body)}`).toBe(200)
    return body['data'] as never
  }
  const results = async (query: string) => {
    const { result } = (await api(`query?${new URLSearchParams({ query })}`)) as {
      result: { value: [number, string] }[]
    }
    return result
  }
  // Two scrapes, so that rates exist.
  await waitUntil(
    async () => Number((await results('count_over_time(up{job="mayfly"}[1m])'))[0]?.value[1]) >= 3,
  )
  expect((await results('up{job="mayfly"}'))[0]?.value[1]).toBe('1')
  for (const query of dashboardQueries()) await results(query)
  for (const query of [
    'mayfly_live_sessions == 1',
    'mayfly_ready == 1',
    'sum(mayfly_smtp_mails_total{outcome="stored"}) == 1',
    'histogram_quantile(0.99, sum by (le) (mayfly_smtp_command_seconds_bucket{command="DATA"})) > 0',
    'mayfly_smtp_certificate_expiry_timestamp_seconds - time() > 86400',
  ]) {
    expect(await results(query), query).toHaveLength(1)
  }
  interface Rule {
    name: string
    health: string
    state: string
  }
  const rules = async () =>
    ((await api('rules')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules)
  await waitUntil(async () => (await rules()).every(({ health }) => health !== 'unknown'))
  const seen = (await rules()).map(({ name, health, state }) => [name, health, state])
  expect(seen).toEqual(ALERTS.map(({ alert }) => [alert, 'ok', 'inactive']))
})
