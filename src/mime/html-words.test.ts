import { expect, test } from 'vitest'
import { isSlowerThan } from '../../test/kit/mail/growth.ts'
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

test('blocks, cells and buttons are words of their own, other elements are not', () => {
  const { words } = read(
    'a<p>b<br>c<td>d</td>e<x-f>f</x-f><o:p></o:p>g<time>h</time><button>i</button>j',
  )
  expect(words).toBe('a b c d efgh i j')
})

test('a tag of a million attributes takes little time, because it is one step', async () => {
  const attributes = (count: number) => `<p ${'a '.repeat(count)}>`
  const reads = (html: string) => () => {
    for (let time = 0; time < 20; time += 1) read(html)
  }
  const [many, million] = [attributes(1_000).repeat(100), attributes(1_000_000)]
  expect(await isSlowerThan(2, reads(many), reads(million))).toBe(false)
})

test('of many megabytes of tags, only the beginning is read', () => {
  const tag = '<p class="x">'
  const [some, more] = [1, 10].map((times) => read(`First ${tag.repeat(times * 200_000)} last`))
  expect(more?.steps).toBe(some?.steps)
  expect([more?.words.trim(), more?.isWhole]).toEqual(['First', false])
  expect(read('Both').isWhole).toBe(true)
})
