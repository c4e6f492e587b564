import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Threads and child processes strip the same types again and again: here they find them done. Half the time of a run.
const NODE_COMPILE_CACHE = fileURLToPath(new URL('node_modules/.cache/node', import.meta.url))

// What the doors do is shown on the second engine too. Files that open no store would only show the same again.
const opensStore = (file: string) =>
  /\/(app|http-server|keys)\.ts'/.test(readFileSync(file, 'utf8'))
const ON_POSTGRES = [
  ...globSync('src/http/**/*.test.ts').filter(opensStore),
  'test/{operator-commands,privacy,reader-privacy,relay,round-trip,strangers,upgrade,visible}.test.ts',
]

// Everything starts real servers and real threads: separate processes, and few of them on small machines.
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    env: { NODE_COMPILE_CACHE },
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['{src,web}/**/*.test.ts'], testTimeout: 30_000 },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ON_POSTGRES,
          testTimeout: 300_000,
          env: { MAYFLY_TEST_ENGINE: 'postgres' },
          globalSetup: 'test/shared-postgres.ts',
        },
      },
      {
        extends: true,
        test: { name: 'e2e', include: ['test/**/*.test.ts'], testTimeout: 300_000 },
      },
    ],
  },
})
