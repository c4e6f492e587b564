import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { SAMPLES, shellQuoted } from './sample-code.ts'

const CALL = { site: 'https://mail.example', key: 'mf_live_abc', to: '' }

test('curl filters by address if there is one', () => {
  expect(SAMPLES.curl.write(CALL)).toBe(
    `curl -H 'APIKey: mf_live_abc' \\\n  https://mail.example/emails`,
  )
  expect(SAMPLES.curl.write({ ...CALL, to: 'a+b@pool.example' })).toBe(
    `curl -H 'APIKey: mf_live_abc' -G \\\n  -d 'to=a%2Bb@pool.example' \\\n  https://mail.example/emails`,
  )
})

/** Input that must neither end a quote nor start a command. */
const ODD = [`o'brien@x.example`, `a"b`, 'a\\b', `\\'`, '$(id)', '`id`', 'line\nbreak', '\\"', 'ü𝒳']

test('each is one word in a shell', () => {
  const script = `printf '%s\\0' ${ODD.map(shellQuoted).join(' ')}`
  const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8' })
  expect(printed.split('\0')).toStrictEqual([...ODD, ''])
})

test('each is one string in JavaScript', () => {
  for (const odd of ODD) {
    const [, written = ''] =
      /'to', (.*)\)$/m.exec(SAMPLES.javascript.write({ ...CALL, to: odd })) ?? []
    expect(new Function(`return ${written}`)()).toBe(odd)
  }
})

test('each is one string in Python', () => {
  const written = ODD.map((odd) => {
    const [, text = ''] = /'to': (.*)\}\)$/m.exec(SAMPLES.python.write({ ...CALL, to: odd })) ?? []
    return text
  })
  const program = `import json\nprint(json.dumps([${written.join(', ')}]))`
  expect(JSON.parse(execFileSync('python3', ['-c', program], { encoding: 'utf8' }))).toStrictEqual(
    ODD,
  )
})
