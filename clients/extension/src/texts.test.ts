import { afterAll, expect, test, vi } from 'vitest'

vi.stubGlobal('chrome', {
  i18n: { getMessage: (name: string) => (name === 'language' ? 'en' : name) },
})
// Another file may have loaded it with its own browser.
vi.resetModules()
const { formatDuration } = await import('./texts.ts')
afterAll(() => vi.unstubAllGlobals())

test.each([
  [5_000, '1 minute'],
  [90_000, '2 minutes'],
  [3_600_000, '1 hour'],
  [6 * 86_400_000, '6 days'],
])('%i ms are %s', (ms, text) => expect(formatDuration(ms)).toBe(text))
