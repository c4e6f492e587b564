import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { startBundledPrograms } from './build/server.ts'
import { filesLeftOut, reportLeftOut } from './test/kit/left-out.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

// Threads and child processes find the types stripped and the code compiled.
const NODE_COMPILE_CACHE = fileURLToPath(new URL('node_modules/.cache/node', import.meta.url))

// A sync to disk takes milliseconds, and tests make a great many. Those about durability use DISK (test/kit/store/stores.ts).
const MEMORY = '/dev/shm'
if (process.env['TMPDIR'] === undefined && freeBytes(MEMORY) > 4 * 1024 ** 3) {
  const folder = mkdtempSync(`${MEMORY}/mayfly-tests-`)
  // PostgreSQL and the parser run as other users.
  chmodSync(folder, 0o755)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.env['TMPDIR'] = folder
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

// For a test that hangs. Long tests are sized for an idle machine, and may run on a busy one.
const TIMEOUT = LONG ? 30 * 60_000 : 5 * 60_000

/** Tests beside the code that start servers, threads or programs. The others are fast. */
const SERVICE = 'src/**/*.service.test.ts'

/** Where the engine matters beyond what the store contracts prove, and nodes.test.ts on three nodes: privacy, races, filters, old data. */
const ON_POSTGRES = [
  ...existing('src/keys/api', ['rolled-token'], '.service.test.ts'),
  ...existing('src/mail/api', ['filters-model'], '.service.test.ts'),
  ...existing('test', ['key-privacy', 'privacy', 'upgrade', 'visible-after-250']),
  ...(LONG
    ? [
        ...existing('test', [
          ...['client-js', 'client-js-keys', 'client-python', 'mail-log', 'operator-commands'],
          'series',
        ]),
        ...existing(
          'src/mail/api',
          [
            ...['check-mail', 'create-session', 'delete-mail', 'events', 'events-several'],
            ...['filters', 'rules', 'search'],
          ],
          '.service.test.ts',
        ),
        ...existing(
          'src/keys/api',
          ['emails-cost', 'emails-filter', 'emails-wait', 'sessions'],
          '.service.test.ts',
        ),
        ...existing('src/webhooks', ['api'], '.service.test.ts'),
        ...existing('src/domains/own', ['api'], '.service.test.ts'),
        ...existing(
          'src/doors',
          ['addy', 'mailtm/accounts', 'mailtm/messages'],
          '.service.test.ts',
        ),
      ]
    : []),
]

/** Only in `npm run test:long`. */
const LONG_ONLY = [
  ...existing('test', [
    ...['balancer', 'build', 'certificates', 'client-docs', 'client-packages', 'client-python'],
    ...['debian', 'docs-examples', 'doctor-backends', 'doctor-parts', 'failed-syncs', 'features'],
    ...['install-guide'],
    ...['left-out', 'mailtm-clients', 'mcp-clients', 'new-machine', 'nodes-certificates'],
    ...['nodes-chaos', 'nodes-leases', 'nodes-replica', 'openapi-clients', 'package'],
    ...['parse-fairness', 'pgbouncer', 'power-cut', 'prometheus', 'release', 'start-errors'],
  ]),
  ...existing('test/page', [
    // The flows that Firefox and Chromium run.
    'webkit',
    // chromium.test.ts opens most of these pages, and extension.test.ts the extension.
    ...['admin', 'docs', 'domains', 'extension-firefox', 'key', 'plain', 'shop', 'webhooks'],
    // The languages of the inbox, hundreds of messages or addresses, and a restarted server.
    ...['inbox-full', 'inbox-restart', 'languages'],
  ]),
]

/** A file that was renamed must not drop out unnoticed. */
function existing(folder: string, names: readonly string[], ending = '.test.ts'): string[] {
  const files = names.map((name) => `${folder}/${name}${ending}`)
  const missing = files.filter((file) => !existsSync(new URL(file, import.meta.url)))
  if (missing.length > 0) throw new Error(`vitest.config.ts names missing files: ${missing}`)
  return files
}

const leftOut = filesLeftOut()
const exclude = [
  ...configDefaults.exclude,
  ...(LONG ? [] : LONG_ONLY),
  ...[...leftOut.values()].flat(),
]

export default defineConfig({
  test: {
    pool: 'forks',
    // More than cores: many tests wait for something.
    maxWorkers: 3,
    // Tests that run concurrently wait for timeouts.
    maxConcurrency: 12,
    // Files of a project share processes. Those of `page` share a browser, and a server unless they need their own.
    isolate: false,
    env: { NODE_COMPILE_CACHE },
    exclude,
    hookTimeout: 120_000,
    testTimeout: TIMEOUT,
    // As long as the locators of pages wait: only a test that fails waits so long.
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default', reportLeftOut(leftOut)],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{src,web,clients/extension}/**/*.test.ts'],
          exclude: [...exclude, SERVICE],
        },
      },
      {
        extends: true,
        plugins: [startBundledPrograms],
        test: {
          name: 'service',
          include: [SERVICE],
          globalSetup: 'test/kit/global/bundle.ts',
        },
      },
      {
        extends: true,
        plugins: [startBundledPrograms],
        test: {
          name: 'postgres',
          include: ON_POSTGRES,
          env: { MAYFLY_TEST_ENGINE: 'postgres' },
          globalSetup: ['test/kit/global/bundle.ts', 'test/kit/global/postgres.ts'],
        },
      },
      {
        extends: true,
        plugins: [startBundledPrograms],
        test: {
          name: 'e2e',
          include: ['test/*.test.ts'],
          globalSetup: 'test/kit/global/bundle.ts',
        },
      },
      {
        extends: true,
        plugins: [startBundledPrograms],
        test: {
          name: 'page',
          include: ['test/page/*.test.ts'],
          globalSetup: 'test/kit/global/bundle.ts',
        },
      },
    ],
  },
})
