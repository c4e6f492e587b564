import { Problem } from '../../../../src/base/problem.ts'
import { routes } from '../../../../src/http/routes.ts'
import { inputReader, NO_PARAMS } from '../../../../src/http/server/parameters.ts'
import { parseBody, parseForm } from '../../../../src/http/server/parse-request.ts'
import { bytesOf, JSON_TOKENS } from '../seeds.ts'
import { check, checkPrototype, type FuzzTarget } from '../target.ts'

const readers = routes.map(({ input }) => inputReader(input))
const FIELDS = {
  token: 'x'.repeat(43),
  id: '12',
  prefix: 'ann',
  domain_id: '1',
  to: 'a@b.test',
  wait: '5',
}
const FORM = 'application/x-www-form-urlencoded'
const part = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const multipart = `${Object.entries(FIELDS)
  .map(([name, value]) => part(name, value))
  .join('')}--b--\r\n`

/** The body of a request; its first line is its Content-Type. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    `application/json\n${JSON.stringify(FIELDS)}`,
    'application/json\n{"id":[1,{"a":null}],"to":-0,"token":"x","wait":-0,"use_gmail":true,"x":"\\ud800\\u0000"}',
    `${FORM}\n${new URLSearchParams(FIELDS)}`,
    `${FORM}\nid=1&id=2&id[]=3&id[a]=4&%zz=%&a+b=%00%ff&__proto__=x`,
    `multipart/form-data; boundary=b\n${multipart}`,
    `multipart/form-data; boundary="b"; charset=x\n${multipart.replace('name="id"', 'name="id"; filename="../a"')}`,
  ]),
  tokens: [
    ...JSON_TOKENS,
    ...(
      '1e999|-0|"__proto__":|"constructor":|\\ud800|&|=|+|%|%00|%ff|%u0041|[]|[a]|token=|id=|\r\n|\n|--b|--b--|; |' +
      'Content-Disposition: form-data; name="id"|filename*=utf-8\'\'x|Content-Type: text/html|\ufeff|\0|application/json|' +
      'multipart/form-data; boundary=|text/plain|１|١| 1|0x1'
    ).split('|'),
    FORM,
  ],
  maxBytes: 4 * 1024,
  async run(input) {
    const end = input.indexOf('\n')
    const [type, bytes] = [input.toString('latin1', 0, Math.max(0, end)), input.subarray(end + 1)]
    const body = await unlessRefused(() => parseBody(type, bytes))
    const query = await unlessRefused(() => parseForm(bytes.toString()))
    let isRead = false
    for (const given of [body, query]) {
      for (const read of given ? readers : []) {
        const result = await unlessRefused(() =>
          read({
            path: NO_PARAMS,
            query: query ?? NO_PARAMS,
            body: given ?? NO_PARAMS,
            bearer: undefined,
          }),
        )
        for (const value of Object.values(result ?? {}).flat()) checkParameter(value)
        if (result && given === body) isRead = true
      }
    }
    checkPrototype()
    return isRead
  },
  compare(input) {
    const text = input.subarray(input.indexOf('\n') + 1).toString()
    // After an invalid escape, Node.js reads the lower byte of other characters.
    if (text.split('&').length > 1_000 || /[^ -~]/.test(text)) return
    const found = parseForm(text)
    // It would drop a question mark at the beginning.
    const expected = new URLSearchParams(`&${text}`)
    for (const [name, value] of expected) {
      // Repeated, also as `name[]`.
      if (name.endsWith(']') || Array.isArray(found.get(name))) continue
      check(
        found.get(name) === value || /\ufffd|\ufeff/.test(name + value),
        `${name} is ${found.get(name)}, not ${value}`,
      )
    }
  },
}

function checkParameter(value: unknown): void {
  const isValid =
    typeof value === 'string'
      ? value.isWellFormed()
      : typeof value === 'boolean' || (Number.isSafeInteger(value) && !Object.is(value, -0))
  check(isValid, `a parameter: ${JSON.stringify(value)}`)
}

async function unlessRefused<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}
