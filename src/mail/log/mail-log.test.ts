import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { LogFacts } from '../../base/log/log.ts'
import { readMetrics } from '../../base/metrics.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import { openMailLog } from './mail-log.ts'
import { addressHash, type MailLogMode } from './rules.ts'
import type { NewLine } from './store.ts'

const KEY = new Uint8Array(32).fill(7)
const NOW = new Date('2026-05-01T12:00:00Z')

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function counted(): Record<string, number> {
  const metric = readMetrics().find(({ name }) => name === 'mayfly_mail_log_lines_total')
  return Object.fromEntries(
    metric?.values.map(({ labels, value }) => [labels['outcome'], value]) ?? [],
  )
}

function open(mode: MailLogMode = 'masked') {
  const seen = {
    stored: [] as NewLine[],
    batches: [] as number[],
    logged: [] as { facts: LogFacts; message: string }[],
    errors: [] as string[],
    fault: undefined as Error | undefined,
    full: undefined as { kind: 'full'; reason: string } | undefined,
    /** Runs during a write. */
    during: async () => {},
    before: counted(),
  }
  const log = openMailLog({
    mode,
    key: KEY,
    now: () => NOW,
    clock: () => Date.now(),
    log: {
      info: (facts, message) => void seen.logged.push({ facts, message }),
      error: (_, message) => void seen.errors.push(message),
    },
    store: {
      storageFault: () => seen.full,
      async addLogLines(lines) {
        if (seen.fault) throw seen.fault
        await seen.during()
        seen.batches.push(lines.length)
        seen.stored.push(...lines)
      },
    },
  })
  const outcomes = () => {
    const now = counted()
    return Object.fromEntries(
      Object.keys(now).map((name) => [name, (now[name] ?? 0) - (seen.before[name] ?? 0)]),
    )
  }
  const add = (ip = '192.0.2.1', describe = () => ({ command: 'RCPT', reason: '550 no' })) =>
    log.add({ ip }, 'refused', describe)
  return { ...log, seen, outcomes, addRefused: add }
}

test('lines that are added during a write wait for the next one, or for the end', async () => {
  const { addRefused, seen, close } = open()
  seen.during = async () => addRefused()
  addRefused()
  for (const batches of [[1], [1, 1], [1, 1, 1]]) {
    await vi.advanceTimersByTimeAsync(1_000)
    expect(seen.batches).toEqual(batches)
  }
  const slow = Promise.withResolvers<void>()
  seen.during = () => slow.promise
  await vi.advanceTimersByTimeAsync(1_000)
  for (let line = 0; line < 5; line += 1) addRefused()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(seen.batches).toEqual([1, 1, 1])
  slow.resolve()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(seen.batches).toEqual([1, 1, 1, 1, 5])
  const last = Promise.withResolvers<void>()
  seen.during = () => last.promise
  addRefused()
  await vi.advanceTimersByTimeAsync(1_000)
  addRefused()
  const closed = close()
  last.resolve()
  await closed
  expect(seen.batches).toEqual([1, 1, 1, 1, 5, 1, 1])
})

test('a line is logged at once, and stored a second later with its hashes', async () => {
  const { add, seen } = open()
  add({ ip: '192.0.2.1' }, 'accepted', () => ({
    command: 'DATA',
    reason: '',
    id: 'x1',
    helo: 'mx.sender.test',
    sender: 'ann@sender.test',
    recipients: [{ address: 'lauren@box.test' }],
    size: 4_096,
    tls: 'TLSv1.3',
    ms: 12.3,
  }))
  expect(seen.logged).toEqual([
    {
      message: 'mail accepted',
      facts: {
        command: 'DATA',
        id: 'x1',
        ip: '192.0.2.1',
        helo: 'mx.sender.test',
        sender: { verbatim: 'sender.test' },
        recipients: { verbatim: 'l…n@box.test' },
        size: 4_096,
        tls: 'TLSv1.3',
        ms: 12,
      },
    },
  ])
  expect(seen.stored).toEqual([])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(seen.stored).toHaveLength(1)
  expect(seen.stored[0]?.line).toMatchObject({ at: NOW, sender: 'sender.test', result: 'accepted' })
  expect(seen.stored[0]?.hashes).toEqual([
    addressHash(KEY, 'to', 'lauren@box.test'),
    addressHash(KEY, 'from', 'ann@sender.test'),
  ])
})

test('a flood of one client is bounded, and ends with a count', async () => {
  const { addRefused, seen, outcomes } = open()
  let described = 0
  for (let at = 0; at < 1_000; at += 1) {
    addRefused('2001:db8::1', () => {
      described += 1
      return { command: 'RCPT', reason: '550 no' }
    })
    addRefused('2001:db8::ffff:1')
  }
  expect(described).toBe(30)
  await vi.advanceTimersByTimeAsync(3_000)
  expect(seen.stored).toHaveLength(61)
  expect(seen.stored.at(-1)?.line).toMatchObject({
    ip: '2001:db8:0:0::/64',
    result: 'refused',
    count: 1_940,
  })
  expect(outcomes()).toEqual({ stored: 61, counted: 1_940, dropped: 0 })
  expect(vi.getTimerCount()).toBe(0)
})

describe('a store that fails', () => {
  test('costs lines, is reported once, and is tried again', async () => {
    const { addRefused, seen, outcomes } = open()
    seen.fault = new Error('no such table: mail_log')
    for (let at = 0; at < 3; at += 1) {
      addRefused()
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(seen.errors).toHaveLength(1)
    seen.fault = undefined
    addRefused()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(outcomes()).toEqual({ stored: 1, counted: 0, dropped: 3 })
    expect(seen.logged).toHaveLength(4)
  })

  test('because it is unavailable, is reported by others', async () => {
    const { addRefused, seen, outcomes } = open()
    for (const [fault, errors] of [
      [new StoreUnavailable(new Error('connection refused')), 0],
      [new Error('no such table: mail_log'), 1],
    ] as const) {
      seen.fault = fault
      addRefused()
      await vi.advanceTimersByTimeAsync(1_000)
      expect(seen.errors).toHaveLength(errors)
    }
    expect(outcomes()).toMatchObject({ dropped: 2 })
  })

  test('because it is full, gets no lines', async () => {
    const { addRefused, seen, outcomes } = open()
    seen.full = { kind: 'full', reason: 'the disk is full' }
    addRefused()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(outcomes()).toEqual({ stored: 0, counted: 0, dropped: 1 })
  })
})

test('a fault of the log itself reaches nobody', () => {
  const { addRefused, outcomes } = open()
  addRefused('192.0.2.1', () => {
    throw new Error('a bug')
  })
  expect(outcomes()).toMatchObject({ dropped: 1 })
})

test('lines are written in small batches, and the last ones before the end', async () => {
  const { addRefused, seen, close } = open()
  for (let client = 0; client < 450; client += 1) addRefused(`192.0.2.${client}`)
  for (let at = 0; at < 70; at += 1) addRefused('192.0.2.1')
  await close()
  expect(seen.batches).toEqual([200, 200, 110])
  expect(seen.stored.at(-1)?.line).toMatchObject({ ip: '192.0.2.1', count: 11 })
})

test('a batch of lines with many recipients is smaller', async () => {
  const { add, seen, close } = open()
  const recipients = Array.from({ length: 99 }, (_, at) => ({ address: `number${at}@box.test` }))
  for (let at = 0; at < 12; at += 1) {
    add({ ip: '192.0.2.1' }, 'refused', () => ({ command: 'DATA', reason: '', recipients }))
  }
  await close()
  expect(seen.batches).toEqual([5, 5, 2])
})

test('without a log there is nothing, not even an id in the reply', async () => {
  const { add, newId, close, seen } = open('off')
  add({ ip: '192.0.2.1' }, 'accepted', () => ({ command: 'DATA', reason: '' }))
  await close()
  expect(newId()).toBeUndefined()
  expect([seen.logged, seen.stored]).toEqual([[], []])
})

test('ids of mails are short, and different', () => {
  const { newId } = open()
  const ids = Array.from({ length: 50 }, newId)
  expect(new Set(ids).size).toBeGreaterThan(45)
  for (const id of ids) expect(id).toMatch(/^[a-z0-9]{12}$/)
})
