import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Threads and child processes strip the same types again and again: here they find them done. Half the time of a run.
const NODE_COMPILE_CACHE = fileURLToPath(new URL('node_modules/.cache/node', import.meta.url))

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
        test: { name: 'house', include: ['test/**/*.test.ts'], testTimeout: 300_000 },
      },
    ],
  },
})
