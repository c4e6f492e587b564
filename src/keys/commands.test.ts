import { describe, expect, test } from 'vitest'
import { NOON, shopFixture } from '../../test/kit/shop/commands.ts'
import { secretHash } from '../base/id.ts'
import { CommandError } from '../cli/output.ts'
import { PLANS } from '../shared/plan.ts'
import {
  labelKey,
  newKeyOptions,
  printKey,
  printKeys,
  printKeyUsage,
  printNewKey,
  printRolledKey,
  revokeKey,
} from './commands.ts'

const fixture = shopFixture()
const { deps, print, printed } = fixture

async function exitOf(operation: () => Promise<void> | unknown): Promise<[number, string]> {
  try {
    await operation()
  } catch (error) {
    if (error instanceof CommandError) return [error.exitCode, error.message]
    throw error
  }
  throw new Error('expected a refusal')
}

interface Issued {
  id: string
  key: string
  prefix: string
}

const revoking = () => ({ ...deps(), keyHoldings: async () => ['  corp.test'] })

async function issued(plan = 'starter', more = {}): Promise<Issued> {
  const request = newKeyOptions(PLANS, { plan, ...more })
  const text = await printed(printNewKey(deps(), request, { json: true, url: '' }, print))
  expect(text.split('\n')).toHaveLength(1)
  return JSON.parse(text)
}

async function charge(id: string, times: number, now = NOON): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => fixture.store.chargeRequest(id, now)))
}

describe('issue', () => {
  test('--json prints one line with everything a program needs', async () => {
    const issuedKey = await issued('business', { label: ' my robot ' })
    expect(issuedKey).toEqual({
      id: expect.stringMatching(/^key_[A-Za-z0-9]{22}$/),
      key: expect.stringMatching(/^mf_live_[A-Za-z0-9]{37}$/),
      prefix: issuedKey.key.slice(0, 12),
      plan: 'business',
      label: 'my robot',
      requests: 100_000,
      per_day: 1_000,
      domains: 5,
      expires_at: '2027-03-01 12:00:00',
      expires_at_iso: '2027-03-01T12:00:00Z',
    })
    expect(await issued('starter', { domains: '3' })).toMatchObject({ domains: 3 })
    expect(await issued()).toMatchObject({ per_day: null, expires_at: null, expires_at_iso: null })
  })

  test('shows the key, that it is shown once, and how to try it', async () => {
    const request = newKeyOptions(PLANS, { plan: 'Business' })
    const text = await printed(printNewKey(deps(), request, { url: 'http://here' }, print))
    const [key = ''] = /mf_live_[A-Za-z0-9]{37}/.exec(text) ?? []
    expect(await fixture.store.findKey(secretHash(key), NOON)).toMatchObject({ plan: 'business' })
    expect(text).toContain('Shown only once')
    expect(text).toContain('Business: 100,000 requests, 1,000 a day')
    expect(text).toContain(`curl -s -H 'APIKey: ${key}' http://here/emails`)
  })

  test('refuses a missing or unknown plan and lists the available ones', async () => {
    const available = [
      'Available plans:',
      '  starter   1,000 requests                  no expiry',
      '  business  100,000 requests, 1,000 a day   valid for 1 year',
    ].join('\n')
    for (const [options, problem] of [
      [{ plan: 'gold' }, 'Unknown plan "gold".'],
      [{}, '--plan is missing.'],
    ] as const) {
      const [code, text] = await exitOf(() => newKeyOptions(PLANS, options))
      expect([code, text?.replace(/ +/g, ' ')]).toEqual([
        2,
        `${problem} ${available.replace(/ +/g, ' ')}`,
      ])
    }
  })

  for (const domains of ['', '-1', '1.5', 'many', '10000']) {
    test(`refuses ${JSON.stringify(domains)} domains`, async () => {
      const [code] = await exitOf(() => newKeyOptions(PLANS, { plan: 'starter', domains }))
      expect(code).toBe(2)
    })
  }

  for (const [name, text] of [
    ['with a line break', 'a\nb'],
    ['with control characters', '\u001b[2J'],
    ['of 101 characters', 'x'.repeat(101)],
  ] as const) {
    test(`refuses a label ${name}`, async () => {
      const [code] = await exitOf(() => newKeyOptions(PLANS, { plan: 'starter', label: text }))
      expect(code).toBe(2)
      const { id } = await issued()
      expect((await exitOf(() => labelKey(deps(), { name: id, text }, print)))[0]).toBe(2)
    })
  }
})

describe('list and show', () => {
  test('show plan, usage and state of each key, but no secret', async () => {
    const keys: Issued[] = []
    for (const plan of ['starter', 'starter', 'business', 'starter']) keys.push(await issued(plan))
    const [used, revoked, daily] = keys.map(({ id }) => id) as [string, string, string]
    await charge(used, 1_000)
    await charge(daily, 1_000)
    await fixture.store.revokeKey(revoked)
    const text = await printed(printKeys(deps(), {}, print))
    for (const { key } of keys) expect(text).not.toContain(key.slice(12))
    const prefixOf = (id: string) => keys.find((one) => one.id === id)?.key.slice(0, 12) ?? ''
    const stateOf = (id: string) =>
      text.split('\n').find((line) => line.startsWith(prefixOf(id))) ?? ''
    expect(stateOf(used)).toMatch(/ starter +used up +1,000 of 1,000 +never$/)
    expect(stateOf(daily)).toMatch(/ used up for today +1,000 of 100,000 +2027-03-01 12:00$/)
    expect(text).toContain('EXPIRES (UTC)')
    expect(stateOf(revoked)).toMatch(/ revoked /)
    const json = JSON.parse(await printed(printKeys(deps(), { json: true }, print)))
    expect(json).toHaveLength(4)
    expect(json).toContainEqual(
      expect.objectContaining({
        id: daily,
        remaining: 99_000,
        used_today: 1_000,
        remaining_today: 0,
      }),
    )
    expect(JSON.stringify(json)).not.toContain(keys[0]?.key.slice(12))
  })

  test('fit 100 columns, whatever the label', async () => {
    await charge((await issued('business', { label: 'x'.repeat(100) })).id, 1_000)
    await issued('starter', { label: 'some words '.repeat(9).trim() })
    const lines = (await printed(printKeys(deps(), {}, print))).split('\n')
    expect(lines.filter((line) => line.length > 100)).toEqual([])
    expect(lines).toHaveLength(7)
  })

  test('an empty list says how to create a key', async () => {
    expect(await printed(printKeys(deps(), {}, print))).toContain('mayfly key issue --plan')
    expect(await printed(printKeys(deps(), { json: true }, print))).toBe('[]')
  })

  test('a key is found by id, prefix or the whole key', async () => {
    const { id, key, prefix } = await issued('starter', { label: 'mine' })
    for (const name of [id, prefix, key]) {
      expect(await printed(printKey(deps(), name, {}, print))).toMatch(
        new RegExp(`^Key +${prefix}\nId +${id}\nPlan +starter\nLabel +mine\nState +active\n`),
      )
    }
    expect(JSON.parse(await printed(printKey(deps(), id, { json: true }, print)))).toMatchObject({
      id,
    })
  })

  test('an unknown key is refused, and a pasted key is not printed', async () => {
    const { key } = await issued()
    const pasted = key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    const [code, text] = await exitOf(() => printKey(deps(), pasted, {}, print))
    expect([code, text]).toEqual([1, `No key matches "${key.slice(0, 12)}"…. See: mayfly key list`])
    expect(await exitOf(() => printKey(deps(), '\u001b[2J', {}, print))).toEqual([
      1,
      'No key matches "\\\\u001b[2J". See: mayfly key list',
    ])
  })

  test('an ambiguous prefix is refused with the ids', async () => {
    const { id, prefix } = await issued()
    const duplicate = { id: 'key_twin', prefix, secretHash: 'h', plan: 'starter', label: '' }
    const limits = { maxRequests: 1, maxPerDay: undefined, maxDomains: 1, expiresAt: undefined }
    await fixture.store.addKey({ ...duplicate, ...limits, createdAt: NOON })
    const [code, text] = await exitOf(() => revokeKey(revoking(), prefix, print))
    expect(code).toBe(1)
    expect(text).toMatch(/^Several keys match/)
    for (const keyId of [id, 'key_twin']) {
      expect(text).toContain(keyId)
      expect(await fixture.store.readKey(keyId, NOON)).toMatchObject({ state: 'active' })
    }
  })
})

describe('roll, revoke and label', () => {
  test('roll shows the new secret and until when the old one works', async () => {
    const { id, key, prefix } = await issued()
    const rolled = JSON.parse(await printed(printRolledKey(deps(), prefix, { json: true }, print)))
    expect(rolled).toMatchObject({ id, prefix, former_until: '2026-03-02 12:00:00' })
    expect(rolled.key).not.toBe(key)
    for (const secret of [key, rolled.key]) {
      expect(await fixture.store.findKey(secretHash(secret), NOON)).toMatchObject({ id })
    }
    const text = await printed(printRolledKey(deps(), id, {}, print))
    expect(text).toMatch(/^Key +mf_live_[A-Za-z0-9]{37}\n/)
    expect(text).toContain('until 2026-03-02 12:00:00 UTC')
  })

  test('a revoked key cannot be rolled', async () => {
    const { id, key, prefix } = await issued()
    const revoked = await printed(revokeKey(revoking(), key, print))
    expect(revoked).toBe(`Revoked ${prefix} (${id}).\n  corp.test`)
    expect(await fixture.store.readKey(id, NOON)).toMatchObject({ state: 'revoked' })
    expect((await exitOf(() => printRolledKey(deps(), id, {}, print)))[0]).toBe(1)
  })

  test('label changes the label', async () => {
    const { id } = await issued('starter', { label: 'one' })
    await labelKey(deps(), { name: id, text: 'two' }, print)
    expect(await fixture.store.readKey(id, NOON)).toMatchObject({ label: 'two' })
  })
})

describe('usage', () => {
  test('is drawn on a terminal', async () => {
    const { id, prefix } = await issued('business')
    await charge(id, 2, new Date(NOON.getTime() - 86_400_000))
    await charge(id, 498)
    const text = await printed(printKeyUsage(deps(), prefix, { drawn: true }, print))
    expect(text).toContain(`${prefix}  business  active`)
    expect(text).toMatch(/^Used +500 of 100,000 +█░{29} +99,500 left$/m)
    expect(text).toMatch(/^Today +498 of 1,000 +█{15}░{15} +502 left until 2026-03-02 00:00 UTC$/m)
    expect(text).toMatch(/^498 ┤ {58}█$/m)
    expect(text).toMatch(/^ +│ {56}▁ █$/m)
  })

  test('is a table without a terminal, and JSON with the field names of the API', async () => {
    const { id } = await issued()
    await charge(id, 3)
    const text = await printed(printKeyUsage(deps(), id, { drawn: false }, print))
    expect(text).toMatch(/^Used +3 of 1,000 requests$/m)
    expect(text).toMatch(/^DAY +REQUESTS\n2026-01-31 +0\n(.+ 0\n){28}2026-03-01 +3$/m)
    expect(text).not.toMatch(/[█░]/)
    const json = JSON.parse(
      await printed(printKeyUsage(deps(), id, { json: true, drawn: true }, print)),
    )
    expect(json).toMatchObject({ id, used: 3, remaining: 997, per_day: null })
    expect(json.days).toHaveLength(30)
    expect(json.days.at(-1)).toEqual({ date: '2026-03-01', requests: 3 })
  })

  test('prints that there is no daily limit', async () => {
    const { id } = await issued()
    expect(await printed(printKeyUsage(deps(), id, { drawn: true }, print))).toMatch(
      /^Today +0 +no daily limit$/m,
    )
  })
})
