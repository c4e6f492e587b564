import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Zone } from '../../test/kit/dns/dns-server.ts'
import { rsaKey, signed } from '../../test/kit/mail/signed.ts'
import { startChild } from '../sandbox/process.ts'

import type { CheckJob, CheckResponse } from './job.ts'
import { type Fixture, type Options, openFixture, SAMPLE_MAIL } from './testing/fixture.ts'

const rsa = rsaKey()
const GOOD: Zone = {
  'TXT sender.test': ['v=spf1 ip4:192.0.2.1 -all'],
  'TXT _dmarc.sender.test': ['v=DMARC1; p=reject'],
  'TXT s1._domainkey.sender.test': [rsa.record],
}
const PASSES = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }

// Starting a child takes most of the time of a test: tests that need no options of their own share one.
const DEAD: Zone = { 'TXT dead.test': 'silence' }
const SILENT: Zone = Object.fromEntries(Object.keys(GOOD).map((key) => [key, 'silence']))
const TIGHT = { dnsMs: 200, maxConcurrent: 3, maxBackground: 1, maxBytes: 10_000 }
// Time that no check takes, even if the machine stalls.
const PATIENT = { cpuMs: 60_000, wallMs: 90_000 }
let shared: Fixture
let silent: Fixture
beforeAll(async () => {
  shared = await openFixture({ ...GOOD, ...DEAD }, { limits: PATIENT, dnsMs: 60_000 })
  silent = await openFixture(SILENT, TIGHT)
})
afterEach(() => expect([...shared.lines, ...silent.lines]).toEqual([]))
afterAll(async () => {
  await shared.close()
  await silent.close()
})

async function open(zone: Zone = GOOD, options: Options = {}): Promise<Fixture> {
  const fixture = await openFixture({ ...zone }, options)
  onTestFinished(() => fixture.close())
  return fixture
}

describe('a mail', () => {
  test('from its author passes all three; the next one sends no DNS query', async () => {
    const { check, asked } = shared
    const raw = await signed(SAMPLE_MAIL, rsa)
    expect(await check({ raw })).toEqual(PASSES)
    expect(asked.length).toBe(new Set(asked).size)
    const before = asked.length
    expect(before).toBeGreaterThan(2)
    expect(await check({ raw })).toEqual(PASSES)
    expect(asked.length).toBe(before)
  })

  test('without a known client (fetched mail) is not checked', async () => {
    const { check, asked } = shared
    const before = asked.length
    expect(await check({ clientIp: '', mailFrom: 'x@unknown.test' })).toBeUndefined()
    expect(asked.length).toBe(before)
  })

  test('with unresponsive DNS gets its result within the timeout', async () => {
    const raw = await signed(SAMPLE_MAIL, rsa)
    expect(await silent.check({ raw })).toEqual({
      spf: 'temperror',
      dkim: 'temperror',
      dmarc: 'temperror',
    })
  })

  test('gets the other results if one DNS server is unresponsive', async () => {
    const { check } = await open({ ...GOOD, 'TXT sender.test': 'silence' }, { dnsMs: 60_000 })
    const raw = await signed(SAMPLE_MAIL, rsa)
    expect(await check({ raw })).toEqual({ spf: 'temperror', dkim: 'pass', dmarc: 'pass' })
  })
})

describe('hostile mail', () => {
  const signature =
    'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.test; s=s1; h=from; bh=x; b=x\r\n'

  test('that takes too long fails its own check only, and is logged', async () => {
    const { check, lines } = await open(GOOD, { limits: { cpuMs: 1_500 }, dnsMs: 60_000 })
    const raw = `${signature}${SAMPLE_MAIL}${'a'.repeat(10 * 1024 * 1024)}`
    const failed = { spf: 'pass', dkim: 'permerror', dmarc: 'permerror' }
    expect(await check({ raw })).toEqual(failed)
    expect(lines.splice(0)).toEqual([
      'warn: cannot check the sender of a mail {"check":"dkim","reason":"too slow"}',
    ])
    expect(await check({ raw: await signed(SAMPLE_MAIL, rsa) })).toEqual(PASSES)
    expect(lines).toEqual([])
  })

  for (const [name, head] of [
    ['with a header of 400 KB in lines of one letter', `X: y\r\n${'a\r\n'.repeat(130_000)}`],
    ['with a header of 400 KB', `X: ${'y'.repeat(400 * 1024)}\r\n`],
    ['with very many fields', 'X: y\r\n'.repeat(1_000)],
    ['with very many blanks', `X: ${'\t\r\n'.repeat(200)}y\r\n`],
    ['with endless groups', `From: ${'a:'.repeat(50_000)}\r\n`],
    [
      'with endless groups on broken lines',
      `From\n:${'a:'.repeat(1_000)}\n${':b'.repeat(1_500)}\r\n`,
    ],
    [
      'that has a signature without a canonicalization of the header',
      signature.replace('relaxed/', '/'),
    ],
  ] as const) {
    test(`${name} is a permerror, which is not logged`, async () => {
      const { check, lines } = shared
      const raw = head + (await signed(SAMPLE_MAIL, rsa))
      expect(await check({ raw })).toEqual({ spf: 'pass', dkim: 'permerror', dmarc: 'permerror' })
      expect(lines).toEqual([])
    })
  }

  test('with a hostile header is checked', async () => {
    const { check, lines } = shared
    for (const [name, head] of [
      ['hundreds of signatures', signature.repeat(900)],
      ['a signature of 100 KB', `DKIM-Signature: ${'a=b; '.repeat(20_000)}\r\n`],
      [
        'a signed list of 20,000 headers',
        signature.replace('h=from', `h=from${':x'.repeat(20_000)}`),
      ],
      ['many authors', `From: ${'x@evil.test, '.repeat(150)}x@evil.test\r\n`],
      ['many parentheses', `From: ${'('.repeat(2_000)}\r\n`],
      ['many groups', `From: ${'a:'.repeat(1_000)}\r\n`],
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

test('a mail of 10 MB passes within the default limit of memory', async () => {
  const { check, lines } = await open(GOOD, { limits: PATIENT, dnsMs: 60_000 })
  const raw = await signed(SAMPLE_MAIL + 'A line of an attachment.\r\n'.repeat(400_000), rsa)
  expect(await check({ raw })).toEqual(PASSES)
  expect(lines).toEqual([])
})

describe('the checker', () => {
  test('returns undefined beyond its limits of count and size', async () => {
    const { check } = silent
    const all = await Promise.all(Array.from({ length: 50 }, () => check()))
    expect(all.filter((checks) => checks !== undefined).length).toBe(3)
    const large = { raw: SAMPLE_MAIL + 'x'.repeat(10_000) }
    // A single mail is checked, whatever its size.
    const [first, second] = await Promise.all([check(large), check(large)])
    expect(first).toBeDefined()
    expect(second).toBeUndefined()
    expect(await check()).toBeDefined()
  })

  test('leaves most of its capacity to checks that somebody waits for', async () => {
    const { check } = silent
    const later = Array.from({ length: 5 }, () => check({}, 'background'))
    const now = Array.from({ length: 5 }, () => check())
    const checked = async (all: typeof now) => (await Promise.all(all)).filter(Boolean).length
    expect([await checked(later), await checked(now)]).toEqual([1, 2])
  })

  test('is not blocked by checks that wait for an unresponsive name server', async () => {
    const { check } = shared
    // One would do: there is one child. They give up after three seconds.
    const waiting = Array.from({ length: 5 }, () => check({ mailFrom: 'x@dead.test' }))
    const first = await Promise.race([
      check({ raw: await signed(SAMPLE_MAIL, rsa) }),
      Promise.race(waiting).then(() => 'an unresponsive one first'),
    ])
    expect(first).toEqual(PASSES)
  })

  test('returns undefined once closed, also to pending checks', async () => {
    const { check, close, lines } = await openFixture({ 'TXT sender.test': 'silence' })
    const waiting = check()
    await close()
    expect(await waiting).toBeUndefined()
    expect(await check()).toBeUndefined()
    expect(lines).toEqual([])
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
      authors: ['tcp', 'udp', 'http', 'dns', 'names', 'the rest of the source'].map(
        (what) => `${what} ERR_ACCESS_DENIED`,
      ),
    })
  } finally {
    await child.end()
  }
})
