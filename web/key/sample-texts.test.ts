import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'vitest'
import { SAMPLES, shellText } from './sample-texts.ts'

const CALL = { site: 'https://mail.example', key: 'mf_live_abc', to: '' }

test('curl asks for one address, or for all that the key may see', () => {
  assert.equal(
    SAMPLES.curl.write(CALL),
    `curl -H 'APIKey: mf_live_abc' \\\n  https://mail.example/emails`,
  )
  assert.equal(
    SAMPLES.curl.write({ ...CALL, to: 'a+b@pool.example' }),
    `curl -H 'APIKey: mf_live_abc' -G \\\n  -d 'to=a%2Bb@pool.example' \\\n  https://mail.example/emails`,
  )
})

/** Whatever is typed stays a text: none of these ends a quote or begins a command. */
const ODD = [`o'brien@x.example`, `a"b`, 'a\\b', `\\'`, '$(id)', '`id`', 'line\nbreak', '\\"', 'ü𝒳']

for (const odd of ODD) {
  const name = JSON.stringify(odd)

  test(`${name} is one word to a shell`, () => {
    const heard = execFileSync('sh', ['-c', `printf %s ${shellText(odd)}`], { encoding: 'utf8' })
    assert.equal(heard, odd)
  })

  test(`${name} is one text to JavaScript`, () => {
    const [, written = ''] =
      /'to', (.*)\)$/m.exec(SAMPLES.javascript.write({ ...CALL, to: odd })) ?? []
    assert.equal(new Function(`return ${written}`)(), odd)
  })

  test(`${name} is one text to Python`, () => {
    const [, written = ''] =
      /'to': (.*)\}\)$/m.exec(SAMPLES.python.write({ ...CALL, to: odd })) ?? []
    const program = `import json\nprint(json.dumps(${written}))`
    assert.equal(JSON.parse(execFileSync('python3', ['-c', program], { encoding: 'utf8' })), odd)
  })
}
