import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Canary, hostsIn, openCanary } from '../kit/page/canary.ts'
import { PAYLOADS } from '../kit/page/hostile-html.ts'
import { renderWithLayers } from '../kit/page/layers.ts'
import { sharedPageApp } from '../kit/page/pages.ts'

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
  expect(ran.map((word) => `${word}: ${PAYLOADS[Number.parseInt(word, 10)]}`)).toStrictEqual([])
  expect([...requested, ...canary.requests]).toStrictEqual([])
  expect(left).toStrictEqual([])
})

test('with the sanitizer alone no script runs, nothing is requested and nothing navigates', async () => {
  const layers = { purifier: true, sandbox: false, policy: undefined }
  const { ran, requested, left } = await renderWithLayers(canary, layers, payloads)
  expect(named(ran)).toStrictEqual([])
  expect([...requested, ...canary.requests]).toStrictEqual([])
  expect(left).toStrictEqual([])
})

test('with the sandbox alone no script runs and nothing navigates', async () => {
  const layers = { purifier: false, sandbox: true, policy: undefined }
  const { ran, left } = await renderWithLayers(canary, layers, payloads)
  expect(named(ran)).toStrictEqual([])
  expect(left).toStrictEqual([])
  expect(requests().length, 'without a policy some of them ask for something').toBeGreaterThan(5)
})

test('with the policy alone no script runs and nothing is requested', async () => {
  const layers = { purifier: false, sandbox: false, policy }
  const { ran, logged } = await renderWithLayers(canary, layers, payloads)
  expect(named(ran)).toStrictEqual([])
  expect(requests()).toStrictEqual([])
  expect(logged.length, 'the browser says what it did not do').toBeGreaterThan(5)
})

test('scripts run when every layer is disabled (control)', async () => {
  const layers = { purifier: false, sandbox: 'allow-scripts', policy: undefined }
  const { ran } = await renderWithLayers(canary, layers, payloads)
  expect(ran.length, `only ${ran.length} ran`).toBeGreaterThan(3)
})
