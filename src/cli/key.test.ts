import { describe, expect, test } from 'vitest'
import { secretHash } from '../core/id.ts'
import { PLANS } from '../core/plan.ts'
import { issue, keyWish, label, list, revoke, roll, show } from './key.ts'
import { usage } from './key-usage.ts'
import { Refused } from './output.ts'
import { NOON, shopDesk } from './testing/shop.ts'

const desk = shopDesk()
const { book, print, printed } = desk

async function exitOf(operation: () => Promise<void> | unknown): Promise<[number, string]> {
  try {
    await operation()
  } catch (error) {
    if (error instanceof Refused) return [error.exitCode, error.message]
    throw error
  }
  throw new Error('expected a refusal')
}

interface Issued {
  id: string
  key: string
  prefix: string
}

async function issued(plan = 'starter', more = {}): Promise<Issued> {
  const wish = keyWish(PLANS, { plan, ...more })
  const text = await printed(issue(book(), wish, { json: true, url: '' }, print))
  expect(text.split('\n')).toHaveLength(1)
  return JSON.parse(text)
}

async function spend(id: string, times: number, now = NOON): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => desk.store.spendRequest(id, now)))
}

describe('issue', () => {
  test('tells programs all they need, on one line', async () => {
    const one = await issued('business', { label: ' my robot ' })
    expect(one).toEqual({
      id: expect.stringMatching(/^key_[A-Za-z0-9]{22}$/),
      key: expect.stringMatching(/^mf_live_[A-Za-z0-9]{37}$/),
      prefix: one.key.slice(0, 12),
      plan: 'business',
      label: 'my robot',
      requests: 100_000,
      per_day: 1_000,
      expires_at: '2027-03-01 12:00:00',
      expires_at_iso: '2027-03-01T12:00:00Z',
    })
    expect(await issued()).toMatchObject({ per_day: null, expires_at: null, expires_at_iso: null })
  })

  test('tells people the key, that it is shown once, and how to try it', async () => {
    const wish = keyWish(PLANS, { plan: 'Business' })
    const text = await printed(issue(book(), wish, { url: 'http://here' }, print))
    const [key = ''] = /mf_live_[A-Za-z0-9]{37}/.exec(text) ?? []
    expect(await desk.store.findKey(secretHash(key), NOON)).toMatchObject({ plan: 'business' })
    expect(text).toContain('Shown this once')
    expect(text).toContain('Business: 100,000 requests, 1,000 a day')
    expect(text).toContain(`curl -s -H 'APIKey: ${key}' http://here/emails`)
  })

  test('refuses a plan that is not sold, and names those that are', async () => {
    expect(await exitOf(() => keyWish(PLANS, { plan: 'gold' }))).toEqual([
      2,
      'There is no plan "gold". The plans are: starter, business',
    ])
  })

  for (const [name, text] of [
    ['of two lines', 'a\nb'],
    ['that acts on a terminal', '\u001b[2J'],
    ['of 101 characters', 'x'.repeat(101)],
  ] as const) {
    test(`refuses a label ${name}`, async () => {
      const [code] = await exitOf(() => keyWish(PLANS, { plan: 'starter', label: text }))
      expect(code).toBe(2)
      const { id } = await issued()
      expect((await exitOf(() => label(book(), { name: id, text }, print)))[0]).toBe(2)
    })
  }
})

describe('list and show', () => {
  test('tell what each key is, what is used of it and why it opens nothing, but no secret', async () => {
    const keys: Issued[] = []
    for (const plan of ['starter', 'starter', 'business', 'starter']) keys.push(await issued(plan))
    const [used, revoked, daily] = keys.map(({ id }) => id) as [string, string, string]
    await spend(used, 1_000)
    await spend(daily, 1_000)
    await desk.store.revokeKey(revoked)
    const text = await printed(list(book(), {}, print))
    for (const { key } of keys) expect(text).not.toContain(key.slice(12))
    const stateOf = (id: string) => text.split('\n').find((line) => line.includes(id)) ?? ''
    expect(stateOf(used)).toMatch(/ starter +used up +1,000 of 1,000 +never$/)
    expect(stateOf(daily)).toMatch(/ used up for today +1,000 of 100,000 +2027-03-01 12:00:00$/)
    expect(stateOf(revoked)).toMatch(/ revoked /)
    const json = JSON.parse(await printed(list(book(), { json: true }, print)))
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

  test('an empty list says how to make the first', async () => {
    expect(await printed(list(book(), {}, print))).toContain('mayfly key issue --plan')
    expect(await printed(list(book(), { json: true }, print))).toBe('[]')
  })

  test('a key is shown by its id, its prefix, or all of it', async () => {
    const { id, key, prefix } = await issued('starter', { label: 'mine' })
    for (const name of [id, prefix, key]) {
      expect(await printed(show(book(), name, {}, print))).toMatch(
        new RegExp(`^Key +${prefix}\nId +${id}\nPlan +starter\nLabel +mine\nState +active\n`),
      )
    }
    expect(JSON.parse(await printed(show(book(), id, { json: true }, print)))).toMatchObject({ id })
  })

  test('a key that is not there is refused, and a pasted one is not written out again', async () => {
    const { key } = await issued()
    const pasted = key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    const [code, text] = await exitOf(() => show(book(), pasted, {}, print))
    expect([code, text]).toEqual([1, `No key is "${key.slice(0, 12)}"…. See: mayfly key list`])
    expect(await exitOf(() => show(book(), '\u001b[2J', {}, print))).toEqual([
      1,
      'No key is "\\\\u001b[2J". See: mayfly key list',
    ])
  })

  test('a prefix that several keys share asks which', async () => {
    const { id, prefix } = await issued()
    const twin = { id: 'key_twin', prefix, secretHash: 'h', plan: 'starter', label: '' }
    const limits = { maxRequests: 1, maxPerDay: undefined, expiresAt: undefined }
    await desk.store.addKey({ ...twin, ...limits, createdAt: NOON })
    const [code, text] = await exitOf(() => revoke(book(), prefix, print))
    expect(code).toBe(1)
    expect(text).toMatch(/^Several keys begin with/)
    for (const one of [id, 'key_twin']) {
      expect(text).toContain(one)
      expect(await desk.store.readKey(one, NOON)).toMatchObject({ state: 'active' })
    }
  })
})

describe('roll, revoke and label', () => {
  test('a rolled key shows its new secret and until when the former lives', async () => {
    const { id, key, prefix } = await issued()
    const rolled = JSON.parse(await printed(roll(book(), prefix, { json: true }, print)))
    expect(rolled).toMatchObject({ id, prefix, former_until: '2026-03-02 12:00:00' })
    expect(rolled.key).not.toBe(key)
    for (const secret of [key, rolled.key]) {
      expect(await desk.store.findKey(secretHash(secret), NOON)).toMatchObject({ id })
    }
    const text = await printed(roll(book(), id, {}, print))
    expect(text).toMatch(/^Key +mf_live_[A-Za-z0-9]{37}\n/)
    expect(text).toContain('until 2026-03-02 12:00:00')
  })

  test('a revoked key is revoked at once, and rolls no more', async () => {
    const { id, key, prefix } = await issued()
    expect(await printed(revoke(book(), key, print))).toContain(`${prefix} (${id}) is revoked`)
    expect(await desk.store.readKey(id, NOON)).toMatchObject({ state: 'revoked' })
    expect((await exitOf(() => roll(book(), id, {}, print)))[0]).toBe(1)
  })

  test('a label is changed', async () => {
    const { id } = await issued('starter', { label: 'one' })
    await label(book(), { name: id, text: 'two' }, print)
    expect(await desk.store.readKey(id, NOON)).toMatchObject({ label: 'two' })
  })
})

describe('usage', () => {
  test('is drawn where people look', async () => {
    const { id, prefix } = await issued('business')
    await spend(id, 2, new Date(NOON.getTime() - 86_400_000))
    await spend(id, 498)
    const text = await printed(usage(book(), prefix, { drawn: true }, print))
    expect(text).toContain(`${prefix}  business  active`)
    expect(text).toMatch(/^Used +500 of 100,000 +█░{29} +99,500 left$/m)
    expect(text).toMatch(/^Today +498 of 1,000 +█{15}░{15} +502 left until 2026-03-02 00:00:00$/m)
    expect(text).toMatch(/^498 ┤ {58}█$/m)
    expect(text).toMatch(/^ +│ {56}▁ █$/m)
  })

  test('is a table elsewhere, and JSON as the API has it', async () => {
    const { id } = await issued()
    await spend(id, 3)
    const text = await printed(usage(book(), id, { drawn: false }, print))
    expect(text).toMatch(/^Used +3 of 1,000 requests$/m)
    expect(text).toMatch(/^DAY +REQUESTS\n2026-01-31 +0\n(.+ 0\n){28}2026-03-01 +3$/m)
    expect(text).not.toMatch(/[█░]/)
    const json = JSON.parse(await printed(usage(book(), id, { json: true, drawn: true }, print)))
    expect(json).toMatchObject({ id, used: 3, remaining: 997, per_day: null })
    expect(json.days).toHaveLength(30)
    expect(json.days.at(-1)).toEqual({ date: '2026-03-01', requests: 3 })
  })

  test('says so where no day is limited', async () => {
    const { id } = await issued()
    expect(await printed(usage(book(), id, { drawn: true }, print))).toMatch(
      /^Today +0 +no daily limit$/m,
    )
  })
})
