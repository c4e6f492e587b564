import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentDisposition } from './response.ts'

for (const [name, ascii, exact] of [
  ['report.pdf', 'report.pdf', 'report.pdf'],
  ['a b (1).txt', 'a b (1).txt', 'a%20b%20%281%29.txt'],
  ['Grüße.txt', 'Gr__e.txt', 'Gr%C3%BC%C3%9Fe.txt'],
  ['\u{1f98b}.png', '_.png', '%F0%9F%A6%8B.png'],
  ['"; filename=evil.html', '__ filename_evil.html', '%22%3B%20filename%3Devil.html'],
  ['x\r\nSet-Cookie: a=b', 'x__Set-Cookie_ a_b', 'x%0D%0ASet-Cookie%3A%20a%3Db'],
  ["it's*.txt", 'it_s_.txt', 'it%27s%2A.txt'],
  ['half\ud800', 'half_', 'half%EF%BF%BD'],
] as const) {
  test(`${JSON.stringify(name)} has an ASCII and a UTF-8 form`, () => {
    expect(contentDisposition(name)).toBe(
      `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`,
    )
  })
}

test('no file name breaks out of its quotes or its line', () => {
  const pattern = /^attachment; filename="[A-Za-z0-9 ._()-]*"; filename\*=UTF-8''[A-Za-z0-9._~%-]*$/
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => pattern.test(contentDisposition(name))),
  )
})
