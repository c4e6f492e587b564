import { afterEach, describe, expect, test } from 'vitest'
import { startChild } from '../sandbox/process.ts'
import type { CheckerOptions } from './checker.ts'
import type { CheckJob, CheckResponse } from './job.ts'
import type { Zone } from './testing/dns-server.ts'
import { type Fixture, openFixture, SAMPLE_MAIL } from './testing/fixture.ts'
import { rsaKey, signed } from './testing/signed.ts'

const rsa = rsaKey()
const GOOD: Zone = {
  'TXT sender.test': ['v=spf1 ip4:192.0.2.1 -all'],
  'TXT _dmarc.sender.test': ['v=DMARC1; p=reject'],
  'TXT s1._domainkey.sender.test': [rsa.record],
}
const PASSES = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }

let fixture: Fixture
const open = async (zone: Zone = GOOD, options: Partial<CheckerOptions> = {}) => {
  fixture = await openFixture({ ...zone }, options)
  return fixture
}
afterEach(() => fixture.close())

describe('a mail', () => {
  test('from its author passes all three; the next one sends no DNS query', async () => {
    const { check, asked } = await open()
    const raw = await signed(SAMPLE_MAIL, rsa)
    expect(await check({ raw })).toEqual(PASSES)
    expect(asked.length).toBe(new Set(asked).size)
    const before = asked.length
    expect(before).toBeGreaterThan(2)
    expect(await check({ raw })).toEqual(PASSES)
    expect(asked.length).toBe(before)
  })

  test('without a known client (fetched mail) is not checked', async () => {
    const { check, asked } = await open()
    expect(await check({ clientIp: '' })).toBeUndefined()
    expect(asked).toEqual([])
  })

  test('with unresponsive DNS gets its result within the timeout', async () => {
    const silent = Object.fromEntries(Object.keys(GOOD).map((key) => [key, 'silence' as const]))
    const { check } = await open(silent, { dnsMs: 200 })
    const raw = await signed(SAMPLE_MAIL, rsa)
    expect(await check({ raw })).toEqual({
      spf: 'temperror',
      dkim: 'temperror',
      dmarc: 'temperror',
    })
  })

  test('gets the other results if one DNS server is unresponsive', async () => {
    const { check } = await open({ ...GOOD, 'TXT sender.test': 'silence' }, { dnsMs: 1_000 })
    const raw = await signed(SAMPLE_MAIL, rsa)
    expect(await check({ raw })).toEqual({ spf: 'temperror', dkim: 'pass', dmarc: 'pass' })
  })
})

describe('hostile mail', () => {
  const signature =
    'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.test; s=s1; h=from; bh=x; b=x\r\n'

  for (const [name, raw] of [
    ['a line of 10 MB', () => `${signature}${SAMPLE_MAIL}${'a'.repeat(10 * 1024 * 1024)}`],
    [
      'a header of 400 KB in lines of one letter',
      () => `X: y\r\n${'a\r\n'.repeat(130_000)}${SAMPLE_MAIL}`,
    ],
  ] as const) {
    test(`(${name}) fails its own check only, and is logged`, async () => {
      const { check, lines } = await open(GOOD, { limits: { cpuMs: 600 } })
      expect(await check({ raw: raw() })).toEqual({
        spf: 'pass',
        dkim: 'permerror',
        dmarc: 'permerror',
      })
      expect(lines).toEqual([
        'warn: cannot check the sender of a mail {"check":"dkim","reason":"too slow"}',
      ])
      expect(await check({ raw: await signed(SAMPLE_MAIL, rsa) })).toEqual(PASSES)
      expect(lines.join()).not.toContain('rivate')
    })
  }

  test('with a hostile header is checked', async () => {
    const { check, lines } = await open(GOOD, { limits: { cpuMs: 20_000 } })
    for (const [name, head] of [
      ['a thousand signatures', signature.repeat(1_000)],
      ['a signature of 100 KB', `DKIM-Signature: ${'a=b; '.repeat(20_000)}\r\n`],
      [
        'a signed list of 20,000 headers',
        signature.replace('h=from', `h=from${':x'.repeat(20_000)}`),
      ],
      ['endless authors', `From: ${'x@evil.test, '.repeat(8_000)}x@evil.test\r\n`],
      ['endless parentheses', `From: ${'('.repeat(100_000)}\r\n`],
      ['endless groups', `From: ${'a:'.repeat(50_000)}\r\n`],
      ['a broken chain of seals', 'ARC-Seal: i=1; cv=none\r\nARC-Message-Signature: i=2; a=b\r\n'],
      ['zeros', '\0\0: \0\r\n\0\r\n'],
    ] as const) {
      const checks = await check({ raw: head + SAMPLE_MAIL })
      expect(checks, name).toMatchObject({ spf: 'pass' })
      expect(checks?.dkim, name).not.toBe('pass')
      expect(lines, name).toEqual([])
    }
  })
})

test('a mail of 10 MB passes', async () => {
  const { check } = await open()
  const raw = await signed(SAMPLE_MAIL + 'A line of an attachment.\r\n'.repeat(400_000), rsa)
  expect(await check({ raw })).toEqual(PASSES)
})

describe('the checker', () => {
  test('returns undefined beyond its limits of count and size', async () => {
    const slow: Zone = { 'TXT sender.test': 'silence' }
    const { check, lines } = await open(slow, { dnsMs: 200, maxConcurrent: 3, maxBytes: 10_000 })
    const all = await Promise.all(Array.from({ length: 50 }, () => check()))
    expect(all.filter((checks) => checks !== undefined).length).toBe(3)
    expect(await check({ raw: SAMPLE_MAIL + 'x'.repeat(10_000) })).toBeUndefined()
    expect(await check()).toBeDefined()
    expect(lines).toEqual([])
  })

  test('leaves most of its capacity to checks that somebody waits for', async () => {
    const slow: Zone = { 'TXT sender.test': 'silence' }
    const { check } = await open(slow, { dnsMs: 200, maxConcurrent: 3, maxBackground: 1 })
    const later = Array.from({ length: 5 }, () => check({}, 'background'))
    const now = Array.from({ length: 5 }, () => check())
    const checked = async (all: typeof now) => (await Promise.all(all)).filter(Boolean).length
    expect([await checked(later), await checked(now)]).toEqual([1, 2])
  })

  test('is not blocked by checks that wait for an unresponsive name server', async () => {
    const { check } = await open({ ...GOOD, 'TXT dead.test': 'silence' }, { dnsMs: 5_000 })
    const waiting = Array.from({ length: 50 }, () => check({ mailFrom: 'x@dead.test' }))
    const first = await Promise.race([
      check({ raw: await signed(SAMPLE_MAIL, rsa) }),
      Promise.race(waiting).then(() => 'an unresponsive one first'),
    ])
    expect(first).toEqual(PASSES)
  })

  test('returns undefined once closed, also to pending checks', async () => {
    const { check, close, lines } = await open({ 'TXT sender.test': 'silence' })
    const waiting = check()
    await close()
    expect(await waiting).toBeUndefined()
    expect(await check()).toBeUndefined()
    expect(lines).toEqual([])
    await open()
  })

  test('returns undefined and logs an error if its child does not start', async () => {
    const { check, lines } = await open(GOOD, {
      script: new URL('./testing/missing.ts', import.meta.url),
    })
    expect(await check()).toBeUndefined()
    expect(lines.length).toBe(1)
    expect(lines[0]).toMatch(/^error: sender checks are unavailable/)
  })
})

test('the child has no access to the network or to other source files', async () => {
  await open()
  const child = startChild<Pick<CheckJob, 'kind'>, CheckResponse>(
    {
      name: 'sender check',
      script: new URL('./testing/escaping-child.ts', import.meta.url),
      folders: [new URL('./', import.meta.url)],
    },
    { startMs: 30_000, cpuMs: 5_000, wallMs: 30_000, memoryMb: 512 },
  )
  try {
    const { outcome } = await child.run({ kind: 'dkim' })
    expect(outcome).toMatchObject({
      authors: ['tcp', 'udp', 'http', 'dns', 'names', 'the source of parsing'].map(
        (what) => `${what} ERR_ACCESS_DENIED`,
      ),
    })
  } finally {
    await child.end()
  }
})
