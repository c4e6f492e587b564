import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import { emptyTraffic, openPages, recordTraffic } from './support/pages.ts'

const { app, visit, allow } = openPages()

test('a tab opened by a link is monitored like the tabs that a test opens', async () => {
  allow({ complaint: /a word from there/ })
  const page = await visit('/favicon.svg')
  const seen = emptyTraffic()
  recordTraffic(page.context(), () => seen)
  const [other] = await Promise.all([
    page.context().waitForEvent('page'),
    page.evaluate(`open('/livez?from-a-link', '_blank', 'noopener')`),
  ])
  await other.waitForURL('**/livez?from-a-link')
  await other.evaluate(`console.warn('a word from there')`)
  await vi.waitFor(() => assert.match(seen.complaints.join(), /a word from there/))
  assert.ok(seen.requested.includes(`${app().url}/livez?from-a-link`))
})
