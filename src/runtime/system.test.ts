import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { descriptorLimit, limitConnections } from './system.ts'

const ENV = { MAYFLY_HTTP_THREADS: '1', MAYFLY_SMTP_THREADS: '1' }
const { config } = readConfig({ env: ENV, file: {} })

for (const [limit, connections] of [
  [1_000_000, 10_000],
  [20_000, 10_000],
  [1_024, 544],
  [512, 160],
  [64, 16],
] as const) {
  test(`with ${limit} descriptors there are ${connections} HTTP connections`, () => {
    expect(limitConnections(config, limit).http.connections).toBe(connections)
  })
}

test('a lower limit set by the operator applies', () => {
  const limited = readConfig({ env: { ...ENV, MAYFLY_HTTP_CONNECTIONS: '100' }, file: {} }).config
  expect(limitConnections(limited, 20_000).http.connections).toBe(100)
})

test('each thread needs descriptors of its own', () => {
  const many = readConfig({ env: { ...ENV, MAYFLY_HTTP_THREADS: '8' }, file: {} }).config
  expect(limitConnections(many, 1_024).http.connections).toBe(432)
})

test('without a known limit 1,024 descriptors are assumed', () => {
  expect(limitConnections(config, descriptorLimit('/nowhere')).http.connections).toBe(544)
})

test.runIf(process.platform === 'linux')('the limit is known on Linux', () => {
  expect(descriptorLimit()).toBeGreaterThanOrEqual(64)
})
