import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseBody, parseForm, repeatedKeys } from './parse-request.ts'

describe('a form', () => {
  const plainName = fc.string().filter((name) => !name.endsWith(']'))

  for (const [text, name, value] of [
    ['a=1', 'a', '1'],
    ['a', 'a', ''],
    ['a=', 'a', ''],
    ['=1', '', '1'],
    ['a=b=c', 'a', 'b=c'],
    ['&&a=1&&', 'a', '1'],
    ['a=1+2', 'a', '1 2'],
    ['a=%2B', 'a', '+'],
    ['a=%', 'a', '%'],
    ['a=%zz', 'a', '%zz'],
    ['a=%2g%g2%%41%4', 'a', '%2g%g2%A%4'],
    ['a=%aF%Af', 'a', '\ufffd\ufffd'],
    ['%61=1', 'a', '1'],
    ['a=%C3%BC', 'a', 'ü'],
    ['a=ü%C3%BC漢', 'a', 'üü漢'],
    ['a=%ff%C3%2', 'a', '\ufffd\ufffd%2'],
    ['%ff+%zz=%e2%82', '\ufffd %zz', '\ufffd'],
    ['__proto__=1', '__proto__', '1'],
    ['a[b=1', 'a[b', '1'],
    ['[b]=1', '[b]', '1'],
  ] as const) {
    test(text, () => {
      expect([...parseForm(text)]).toStrictEqual([[name, value]])
    })
  }

  test('a repeated name becomes an array', () => {
    expect(Array.isArray(parseForm('a=1&b=2&%61=3').get('a'))).toBeTruthy()
  })

  for (const text of ['a[]=1', 'a[b]=1', 'a%5Bb%5D%5B%5D=1', 'a=1&a[]=', 'a[]&a=1']) {
    test(`${text} becomes an array under the plain name`, () => {
      expect([...parseForm(text)]).toStrictEqual([['a', []]])
    })
  }

  test('the output of URLSearchParams is parsed back to the same values', () => {
    fc.assert(
      fc.property(fc.dictionary(plainName, fc.string()), (values) => {
        const read = parseForm(new URLSearchParams(values).toString())
        expect([...read].toSorted()).toStrictEqual(Object.entries(values).toSorted())
      }),
    )
  })

  test('1,000 fields are parsed, and not one more, also in a query', () => {
    expect([...parseForm(`a${'&a'.repeat(999)}`).keys()]).toStrictEqual(['a'])
    for (const text of [`a${'&a'.repeat(1_000)}`, '&'.repeat(1_001)]) {
      expect(() => parseForm(text)).toThrow(expect.objectContaining({ code: 'too_large' }))
    }
  })
})

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `"n${at}":1`)

describe('JSON', () => {
  const read = (text: string) => parseBody('application/json; charset=whatever', Buffer.from(text))

  test('prototype property names are ordinary names', async () => {
    const values = await read('{"__proto__":{"polluted":1},"a":1}')
    expect([...values.keys()]).toStrictEqual(['__proto__', 'a'])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  const item = '"x, [{ \\" }]:"'
  for (const [name, text, isAccepted] of [
    ['1,000 keys', `{${numbered(1_000).join()}}`, true],
    ['1,001 keys', `{${numbered(1_001).join()}}`, false],
    ['999 items in one key', `{"a":[${Array(999).fill(item).join()}]}`, true],
    ['1,000 items in one key', `{"a":[${Array(1_000).fill(item).join()}]}`, false],
    ['500 empty arrays and objects', `{"a":[${Array(499).fill('[ ],{}').join()}]}`, true],
    ['999 levels', `{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, true],
    ['1,001 levels', `{"a":${'['.repeat(1_001)}${']'.repeat(1_001)}}`, false],
    ['1,001 keys, and then a syntax error', `{${numbered(1_001).join()}`, false],
  ] as const) {
    test(`${name}: ${isAccepted ? 'accepted' : 'too large'}`, async () => {
      if (isAccepted) await read(text)
      else await expect(read(text)).rejects.toMatchObject({ code: 'too_large' })
    })
  }

  test('a repeated name becomes an array, unless the second is nested', async () => {
    expect(Array.isArray((await read('{"a":1,"a":2}')).get('a'))).toBeTruthy()
    expect((await read('{"a":{"a":1},"b":["a","a"]}')).get('a')).toStrictEqual({ a: 1 })
  })
})

test('a part of multipart has a Content-Disposition of up to 1,000 bytes', async () => {
  const parse = (attributes: number) => {
    const line = `Content-Disposition: form-data; ${'a="b"; '.repeat(attributes)}name="n"`
    const body = Buffer.from(`--b\r\n${line}\r\n\r\n1\r\n--b--\r\n`)
    return parseBody('multipart/form-data; boundary=b', body)
  }
  expect((await parse(130)).get('n')).toBe('1')
  await expect(parse(150)).rejects.toMatchObject({ code: 'too_large' })
})

test('a part of multipart has up to 1,000 header lines', async () => {
  const read = (lines: number) => {
    const head = `--b\r\nContent-Disposition: form-data; name=a${'\r\nX-A: 1'.repeat(lines - 1)}`
    const body = Buffer.from(`${head}\r\n\r\nvalue\r\n--b--\r\n`)
    return parseBody('multipart/form-data; boundary=b', body)
  }
  expect((await read(1_000)).get('a')).toBe('value')
  await expect(read(1_001)).rejects.toMatchObject({ code: 'too_large' })
})

describe('repeated names in JSON', () => {
  test('the output of JSON.stringify has no repeated names', () => {
    fc.assert(fc.property(fc.object(), (value) => repeatedKeys(JSON.stringify(value)).size === 0))
  })

  for (const [text, names] of [
    ['{"a":1,"a":2}', ['a']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"a":"\\"a\\":","a" \n :2}', ['a']],
    ['{"a":"a","b":"a"}', []],
    ['{"a":{"b":1,"b":2}}', []],
    ['{"a\\\\":1,"a":2}', []],
  ] as const) {
    test(text, () => {
      expect([...repeatedKeys(text)]).toStrictEqual(names)
    })
  }
})
