import { describe, expect, test } from 'vitest'
import { batchOf, FUZZ_PARTS } from './campaign/parts/fuzz.ts'
import { describeFinding, fuzz } from './kit/fuzz/fuzz.ts'
import { checkSeeds, inputOf } from './kit/fuzz/mutate.ts'
import { checkSanitised } from './kit/fuzz/sanitised.ts'
import { Fault } from './kit/fuzz/target.ts'

describe('inputs', () => {
  const seeds = [Buffer.from('MAIL FROM:<a@b.test> SIZE=10'), Buffer.from('RCPT TO:<c@d.test>')]
  const material = { seeds, tokens: ['DATA', Uint8Array.of(0xc0, 0x0c)], maxBytes: 40 }
  const inputs = Array.from({ length: 2_000 }, (_, number) =>
    inputOf(material, number).toString('latin1'),
  )

  test('start with the seeds, are always the same, and differ from each other', () => {
    expect(inputs.slice(0, 2)).toEqual(seeds.map(String))
    const again = inputs.map((_, number) => inputOf(material, number).toString('latin1'))
    expect(again).toEqual(inputs)
    expect(new Set(inputs).size).toBeGreaterThan(1_500)
  })

  test('are never longer than the limit, and have words and numbers that are not in the seeds', () => {
    expect(Math.max(...inputs.map(({ length }) => length))).toBe(40)
    for (const part of ['DATA', '\xc0\x0c', 'SIZE=4294967296']) {
      expect(
        inputs.some((input) => input.includes(part)),
        part,
      ).toBe(true)
    }
  })

  test('are not made from nothing', () => {
    expect(checkSeeds({ seeds })).toBeUndefined()
    for (const none of [[], [...seeds, Buffer.alloc(0)]]) {
      expect(() => checkSeeds({ seeds: none })).toThrow(/seeds/)
    }
  })

  test('of which hardly any is accepted are a finding', () => {
    const outcome = { inputs: 200, accepted: 4, findings: [], maxCost: 1, maxMs: 1 }
    expect(batchOf('fuzz-x', outcome).findings).toEqual([])
    expect(batchOf('fuzz-x', { ...outcome, accepted: 3 }).findings).toEqual([
      'fuzz-x: only 3 of 200 inputs were accepted',
    ])
  })

  test('are ten million in all', () => {
    const goals = FUZZ_PARTS.reduce((sum, { goal }) => sum + goal, 0)
    expect(goals).toBeGreaterThanOrEqual(10_000_000)
  })
})

test('errors, crashes, inputs that hang and those that cost too much are found, and minimised', async () => {
  const target = new URL('./kit/fuzz/targets/planted.ts', import.meta.url)
  const { inputs, accepted, findings } = await fuzz(target, { first: 0, count: 66 })
  expect([inputs, accepted]).toEqual([66, 61])
  const found = findings.map(({ kind, number, input }) => [kind, number, String(input)])
  expect(found).toEqual([
    ['hangs', 0, 'hang'],
    ['crashes', 1, 'crash'],
    ['hangs', 3, 'hang: not as the first'],
    ['throws', 64, 'throw'],
    ['slow', 65, 'slow'],
  ])
  const [hanging, crash, once, error, slow] = findings.map(({ message }) => message)
  expect(hanging).toBe('takes longer than 1000 ms')
  expect(crash).toMatch(/^ends with SIGKILL/)
  expect(once).toBe('takes longer than 1000 ms; alone, it does not')
  expect(error).toMatch(/^Fault: a planted error\n +at /)
  expect(slow).toMatch(/^\d+\.\d ms, \d{2,} times the median of its size$/)
})

test('a finding is printed so that it can be kept as a test', () => {
  const input = Buffer.from('\xff"', 'latin1')
  const finding = { kind: 'throws' as const, number: 7, input, message: 'Error: no' }
  expect(describeFinding('fuzz-mime', finding)).toBe(
    'fuzz-mime, input 7, throws: Error: no\n  base64: /yI=\n  latin1: "ÿ\\""',
  )
})

describe('in sanitized HTML', () => {
  for (const html of [
    'a &lt;b> "c" x="<br>"',
    '<p align="left" style="background: url(&quot;data:image/png;base64,AA&quot;);">x</p>',
    '<a href="http://site.test/leave#x" target="_blank">x</a><img alt="<script>" src="data:image/png;base64,AA">',
    '<style>@media screen {\np { color: red; }\n}\n[title="@import"] { content: "position: fixed"; }</style>',
  ]) {
    test(`nothing is found in ${html}`, () => expect(checkSanitised(html)).toBeUndefined())
  }

  for (const html of [
    '<p> <script>x</script></p>',
    'a="<script>x</script>"',
    '<svg></svg>',
    '<x-y></x-y>',
    '<!-- x -->',
    '<?xml >',
    '<p title=x>x</p>',
    '<p onclick="x">x</p>',
    '<p is="x-y">x</p>',
    '<a href="javascript:x">x</a>',
    '<a href="https://a.test/">x</a>',
    '<img src="https://a.test/x.png">',
    '<img src="x" srcset="y">',
    '<td background="//a.test/x.png">x</td>',
    '<p style="position: fixed;">x</p>',
    '<p style="background: url(&quot;https://a.test/&quot;);">x</p>',
    '<style>@import "x";</style>',
    '<style>@font-face { src: url("x"); }</style>',
    '<style>p { color: red; position: fixed; }</style>',
    '<style>@media screen {\np { background-image: url("https://a.test/"); }\n}</style>',
    '<style>p::before { content: "<script>"; }</style>',
  ]) {
    test(`a fault is found in ${html}`, () => expect(() => checkSanitised(html)).toThrow(Fault))
  }
})
