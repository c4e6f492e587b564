import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, test } from 'vitest'
import { startApp } from '../support/app.ts'
import { type Canary, hostsIn, openCanary } from './support/canary.ts'
import { PAYLOADS } from './support/hostile-html.ts'
import { renderWithLayers } from './support/layers.ts'

// In the long tests each layer meets all of them; else some of every family.
const STEP = process.env['MAYFLY_TEST_LONG'] ? 1 : 8
const payloads = PAYLOADS.filter((_, at) => at % STEP === 0)

let canary: Canary
/** What the inbox is served with. */
let policy: string
beforeAll(async () => {
  canary = await openCanary(hostsIn(payloads))
  const app = await startApp({ env: { MAYFLY_AUTH_CHECKS: 'off' } })
  const { headers } = await fetch(`${app.url}/`)
  policy = headers.get('content-security-policy') ?? ''
  await app.stop()
})
afterAll(() => canary.close())
beforeEach(() => {
  canary.requests.length = 0
})

// A connection without a request is one that was only made ready: no policy forbids that.
const requests = () => canary.requests.filter((line) => line !== '')
const named = (ran: string[]) =>
  ran.map((word) => `${word}: ${payloads[Number.parseInt(word, 10)]}`)

test('behind the sanitiser alone nothing runs, nothing is asked and nothing leads away', async () => {
  const layers = { purifier: true, sandbox: false, policy: undefined }
  const { ran, asked, left } = await renderWithLayers(canary, layers, payloads)
  assert.deepEqual(named(ran), [])
  assert.deepEqual([...asked, ...canary.requests], [])
  assert.deepEqual(left, [])
})

test('behind the sandbox alone nothing runs and nothing leads away', async () => {
  const layers = { purifier: false, sandbox: true, policy: undefined }
  const { ran, left } = await renderWithLayers(canary, layers, payloads)
  assert.deepEqual(named(ran), [])
  assert.deepEqual(left, [])
  assert.ok(requests().length > 5, 'without a policy some of them ask for something')
})

test('behind the policy alone nothing runs and nothing is asked', async () => {
  const layers = { purifier: false, sandbox: false, policy }
  const { ran, told } = await renderWithLayers(canary, layers, payloads)
  assert.deepEqual(named(ran), [])
  assert.deepEqual(requests(), [])
  assert.ok(told.length > 5, 'the browser says what it did not do')
})

test('behind none of them scripts run', async () => {
  const layers = { purifier: false, sandbox: 'allow-scripts', policy: undefined }
  const { ran } = await renderWithLayers(canary, layers, payloads)
  assert.ok(ran.length > 3, `only ${ran.length} ran`)
})
