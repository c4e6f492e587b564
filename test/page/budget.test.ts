import { expect, test } from 'vitest'
import { LANGUAGES } from '../../src/shared/languages.ts'
import { startApp } from '../kit/app/app.ts'

const MOST_BYTES = 60 * 1024

test('the first load of the inbox is at most 60 KB of script and style, in every language', async () => {
  const app = await startApp()
  const sizes: Record<string, number> = {}
  const counts: Record<string, number> = {}
  for (const language of Object.keys(LANGUAGES)) {
    const page = await fetch(app.url, { headers: { 'accept-language': language } })
    const files = [...(await page.text()).matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)]
    expect(
      files.length,
      'the page loads its script, its words and its styles',
    ).toBeGreaterThanOrEqual(4)
    counts[language] = files.length
    let bytes = 0
    for (const [, path = ''] of files) bytes += await sizeOf(`${app.url}${path}`)
    sizes[language] = bytes
  }
  await app.stop()
  // Each loads its own texts.
  expect(new Set(Object.values(counts)).size).toBe(1)
  const summary = Object.entries(sizes).map(([language, bytes]) => `${language} ${bytes}`)
  process.stdout.write(`first load of /, compressed: ${summary.join(', ')}\n`)
  for (const [language, bytes] of Object.entries(sizes)) {
    expect(bytes, `${bytes} in ${language}`).toBeLessThanOrEqual(MOST_BYTES)
  }
})

/** The compressed size. */
async function sizeOf(url: string): Promise<number> {
  const response = await fetch(url, { headers: { 'accept-encoding': 'br' } })
  expect(response.status).toBe(200)
  const length = Number(response.headers.get('content-length'))
  await response.arrayBuffer()
  expect(length).toBeGreaterThan(0)
  return length
}
