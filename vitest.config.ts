import { defineConfig } from 'vitest/config'

// Everything starts real servers and real threads: separate processes, and few of them on small machines.
export default defineConfig({
  test: {
    pool: 'forks',
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 30_000 } },
      {
        extends: true,
        test: { name: 'house', include: ['test/**/*.test.ts'], testTimeout: 300_000 },
      },
    ],
  },
})
