import { expect, test } from 'vitest'
import { htmlWords } from './html-words.ts'

function read(html: string, maxLength = 100_000): { words: string; steps: number } {
  const reading = htmlWords(html, maxLength)
  for (let steps = 1; ; steps += 1) {
    const { done, value: words } = reading.next()
    if (done) return { words, steps }
  }
}

test('a long text has the same words, wherever it is divided', () => {
  const text = 'Tom&amp;Jerry '.repeat(5_000)
  expect(read(text).words).toBe('Tom&Jerry '.repeat(5_000))
})

for (const unit of ['x', '&amp;', '<b>', '<!>', '<!---->', '<style></style>', '<']) {
  test(`a mail of nothing but ${unit} takes many small steps`, () => {
    const { words, steps } = read(unit.repeat(200_000))
    expect(words.length).toBeLessThanOrEqual(100_000)
    expect(steps).toBeGreaterThan(4)
  })
}
