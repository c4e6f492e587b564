import { expect, test } from 'vitest'
import { type HtmlWords, htmlWords } from './html-words.ts'

function read(html: string, maxLength = 100_000): HtmlWords & { steps: number } {
  const reading = htmlWords(html, maxLength)
  for (let steps = 1; ; steps += 1) {
    const { done, value } = reading.next()
    if (done) return { ...value, steps }
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

test('of a long text, only the beginning is decoded', () => {
  const { words, steps } = read('caf&eacute; '.repeat(100_000), 10_000)
  expect(words).toBe('café '.repeat(2_000))
  expect(steps).toBeLessThan(10)
})

test('blocks and cells are words of their own, other elements are not', () => {
  const { words } = read('a<p>b<br>c<td>d</td>e<x-f>f</x-f><o:p></o:p>g<time>h</time>')
  expect(words).toBe('a b c d efgh')
})

test('of many megabytes of tags, only the beginning is read', () => {
  const tag = '<p class="x">'
  const [some, more] = [1, 10].map((times) => read(`First ${tag.repeat(times * 200_000)} last`))
  expect(more?.steps).toBe(some?.steps)
  expect([more?.words.trim(), more?.isWhole]).toEqual(['First', false])
  expect(read('Both').isWhole).toBe(true)
})
