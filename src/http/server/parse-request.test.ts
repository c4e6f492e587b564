import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
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
      assert.deepEqual([...parseForm(text)], [[name, value]])
    })
  }

  test('a repeated name becomes an array', () => {
    assert.ok(Array.isArray(parseForm('a=1&b=2&%61=3').get('a')))
  })

  for (const text of ['a[]=1', 'a[b]=1', 'a%5Bb%5D%5B%5D=1', 'a=1&a[]=', 'a[]&a=1']) {
    test(`${text} becomes an array under the plain name`, () => {
      assert.deepEqual([...parseForm(text)], [['a', []]])
    })
  }

  test('the output of URLSearchParams is parsed back to the same values', () => {
    fc.assert(
      fc.property(fc.dictionary(plainName, fc.string()), (values) => {
        const read = parseForm(new URLSearchParams(values).toString())
        assert.deepEqual([...read].toSorted(), Object.entries(values).toSorted())
      }),
    )
  })

  test('1,000 fields are parsed, and not one more, also in a query', () => {
    assert.deepEqual([...parseForm(`a${'&a'.repeat(999)}`).keys()], ['a'])
    for (const text of [`a${'&a'.repeat(1_000)}`, '&'.repeat(1_001)]) {
      assert.throws(() => parseForm(text), { code: 'too_large' })
    }
  })
})

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `"n${at}":1`)

describe('JSON', () => {
  const read = (text: string) => parseBody('application/json; charset=whatever', Buffer.from(text))

  test('prototype property names are ordinary names', async () => {
    const values = await read('{"__proto__":{"polluted":1},"a":1}')
    assert.deepEqual([...values.keys()], ['__proto__', 'a'])
    assert.equal(({} as { polluted?: unknown }).polluted, undefined)
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
      else await assert.rejects(read(text), { code: 'too_large' })
    })
  }

  test('a repeated name becomes an array, unless the second is nested', async () => {
    assert.ok(Array.isArray((await read('{"a":1,"a":2}')).get('a')))
    assert.deepEqual((await read('{"a":{"a":1},"b":["a","a"]}')).get('a'), { a: 1 })
  })
})

test('a part of multipart has a Content-Disposition of up to 1,000 bytes', async () => {
  const parse = (attributes: number) => {
    const line = `Content-Disposition: form-data; ${'a="b"; '.repeat(attributes)}name="n"`
    const body = Buffer.from(`--b\r\n${line}\r\n\r\n1\r\n--b--\r\n`)
    return parseBody('multipart/form-data; boundary=b', body)
  }
  assert.equal((await parse(130)).get('n'), '1')
  await assert.rejects(parse(150), { code: 'too_large' })
})

test('a part of multipart has up to 1,000 header lines', async () => {
  const read = (lines: number) => {
    const head = `--b\r\nContent-Disposition: form-data; name=a${'\r\nX-A: 1'.repeat(lines - 1)}`
    const body = Buffer.from(`${head}\r\n\r\nvalue\r\n--b--\r\n`)
    return parseBody('multipart/form-data; boundary=b', body)
  }
  assert.equal((await read(1_000)).get('a'), 'value')
  await assert.rejects(read(1_001), { code: 'too_large' })
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
      assert.deepEqual([...repeatedKeys(text)], names)
    })
  }
})
