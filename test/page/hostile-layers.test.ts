import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, test } from 'vitest'
import { type Canary, hostsIn, openCanary } from './support/canary.ts'
import { PAYLOADS } from './support/hostile-html.ts'
import { renderWithLayers } from './support/layers.ts'
import { sharedPageApp } from './support/pages.ts'

// The long tests use all payloads for each single layer; otherwise some of each family.
const STEP = process.env['MAYFLY_TEST_LONG'] ? 1 : 16
const payloads = PAYLOADS.filter((_, at) => at % STEP === 0)

let canary: Canary
/** The policy of the inbox. */
let policy: string
beforeAll(async () => {
  canary = await openCanary(hostsIn(PAYLOADS))
  const { headers } = await fetch((await sharedPageApp()).url)
  policy = headers.get('content-security-policy') ?? ''
})
afterAll(() => canary.close())
beforeEach(() => {
  canary.requests.length = 0
})

// A connection without a request is a preconnect, which no policy forbids.
const requests = () => canary.requests.filter((line) => line !== '')
const named = (ran: string[]) =>
  ran.map((word) => `${word}: ${payloads[Number.parseInt(word, 10)]}`)

test(`with every layer no script runs, nothing is requested and nothing navigates: ${PAYLOADS.length} payloads`, async () => {
  const layers = { purifier: true, sandbox: true, policy }
  const { ran, requested, left } = await renderWithLayers(canary, layers, PAYLOADS)
  assert.deepEqual(
    ran.map((word) => `${word}: ${PAYLOADS[Number.parseInt(word, 10)]}`),
    [],
  )
  assert.deepEqual([...requested, ...canary.requests], [])
  assert.deepEqual(left, [])
})

test('with the sanitizer alone no script runs, nothing is requested and nothing navigates', async () => {
  const layers = { purifier: true, sandbox: false, policy: undefined }
  const { ran, requested, left } = await renderWithLayers(canary, layers, payloads)
  assert.deepEqual(named(ran), [])
  assert.deepEqual([...requested, ...canary.requests], [])
  assert.deepEqual(left, [])
})

test('with the sandbox alone no script runs and nothing navigates', async () => {
  const layers = { purifier: false, sandbox: true, policy: undefined }
  const { ran, left } = await renderWithLayers(canary, layers, payloads)
  assert.deepEqual(named(ran), [])
  assert.deepEqual(left, [])
  assert.ok(requests().length > 5, 'without a policy some of them ask for something')
})

test('with the policy alone no script runs and nothing is requested', async () => {
  const layers = { purifier: false, sandbox: false, policy }
  const { ran, logged } = await renderWithLayers(canary, layers, payloads)
  assert.deepEqual(named(ran), [])
  assert.deepEqual(requests(), [])
  assert.ok(logged.length > 5, 'the browser says what it did not do')
})

test('scripts run when every layer is disabled (control)', async () => {
  const layers = { purifier: false, sandbox: 'allow-scripts', policy: undefined }
  const { ran } = await renderWithLayers(canary, layers, payloads)
  assert.ok(ran.length > 3, `only ${ran.length} ran`)
})
