import { describe, expect, test } from 'vitest'
import { dovecotErrors } from '../bench/tools/soak/deliveries.ts'
import { levelFaults, levelsOf } from '../bench/tools/soak/levels.ts'
import { RATES, startAtRates } from '../bench/tools/soak/load.ts'
import { openMailboxes } from '../bench/tools/soak/mailboxes.ts'
import { openRequests } from '../bench/tools/soak/requests.ts'
import type { Sample } from '../bench/tools/soak/samples.ts'
import { openSenders } from '../bench/tools/soak/senders.ts'
import { LATENCIES, openTally, type Taken } from '../bench/tools/soak/tally.ts'
import { type Soaked, soakFindings } from './campaign/parts/soak-findings.ts'
import { waitUntil } from './kit/wait-until.ts'

describe('a soak is level if its last quarter has what its second has', () => {
  type Change = (sample: Sample, factor: number) => Partial<Sample>

  function sampleAt(minute: number): Sample {
    const noise = 1 + (minute % 3) / 100
    const ms = Array.from({ length: 100 }, (_, at) => (at < 97 ? 5 : 40) * noise)
    return {
      minute,
      pssMb: new Map([
        ['main', 200 * noise],
        ['other', 100],
      ]),
      descriptors: 120,
      pending: 60,
      files: { data: 150 * noise, wal: 30, redis: 10 },
      grown: { log: 0.02, raw: 20 },
      done: Object.fromEntries(Object.entries(RATES).map(([name, rate]) => [name, rate * 60])),
      ms: Object.fromEntries(LATENCIES.map((name) => [name, ms])) as Sample['ms'],
      retries: {},
      failed: {},
    }
  }

  /** Rises from the half on to the double. */
  function samplesWith(change: Change): Sample[] {
    return Array.from({ length: 80 }, (_, minute) => {
      const sample = sampleAt(minute)
      return { ...sample, ...change(sample, Math.max(1, minute / 40)) }
    })
  }

  test('noise is level', () => {
    expect(levelFaults(samplesWith(() => ({})))).toStrictEqual([])
  })

  test('what falls is level', () => {
    const falls: Change = ({ descriptors }, factor) => ({ descriptors: descriptors / factor })
    expect(levelFaults(samplesWith(falls))).toStrictEqual([])
  })

  test('so is what fills in the first quarter', () => {
    const fills: Change = ({ minute, pssMb }) =>
      minute < 20 ? { pssMb: new Map([['main', minute]]) } : { pssMb }
    expect(levelFaults(samplesWith(fills))).toStrictEqual([])
  })

  const GROWING: Record<string, Change> = {
    'MB of main processes': ({ pssMb }, factor) => ({
      pssMb: new Map([...pssMb, ['main', 200 + 40 * (factor - 1)]]),
    }),
    'MB of memory': ({ pssMb }, factor) => ({
      pssMb: new Map([...pssMb, ['other', 100 * factor]]),
    }),
    descriptors: ({ descriptors }, factor) => ({ descriptors: descriptors * factor }),
    'MB of data': ({ files }, factor) => ({ files: { ...files, data: files.data * factor } }),
    'MB of WAL': ({ files }, factor) => ({ files: { ...files, wal: files.wal * factor ** 2 } }),
    'MB of Redis': ({ files }, factor) => ({ files: { ...files, redis: 10 * factor } }),
    'KB of log a sample': ({ grown }, factor) => ({ grown: { ...grown, log: 0.02 * factor ** 2 } }),
    'KB of raw mail a mail': ({ grown }, factor) => ({ grown: { ...grown, raw: 20 * factor } }),
    'operations under way': ({ pending }, factor) => ({ pending: pending * factor ** 2 }),
    ...Object.fromEntries(
      LATENCIES.flatMap((name): [string, Change][] => [
        [
          `${name} p50 ms`,
          ({ ms }, factor) => ({
            ms: { ...ms, [name]: ms[name].map((one) => (one < 10 ? one * factor : one)) },
          }),
        ],
        [
          `${name} p99 ms`,
          ({ ms }, factor) => ({
            ms: { ...ms, [name]: ms[name].map((one) => (one < 10 ? one : one * factor ** 2)) },
          }),
        ],
      ]),
    ),
    ...Object.fromEntries(
      Object.keys(RATES).map((kind): [string, Change] => [
        `${kind} a sample`,
        ({ done }, factor) => ({ done: { ...done, [kind]: (done[kind] ?? 0) / factor ** 0.2 } }),
      ]),
    ),
  }

  test('each measure has a series that is planted here', () => {
    const levels = levelsOf(samplesWith(() => ({})))
    expect(levels.map(({ name }) => name)).toStrictEqual(Object.keys(GROWING))
  })

  test.each(Object.entries(GROWING))(
    '%s that change are found, and nothing else',
    (name, change) => {
      const faults = levelFaults(samplesWith(change))
      expect(faults.map((fault) => fault.split(':')[0])).toStrictEqual([name])
    },
  )

  test.each<[string, Change]>([
    ['MB of memory', () => ({ pssMb: new Map() })],
    ['descriptors', () => ({ descriptors: 0 })],
    ['MB of data', ({ files }) => ({ files: { ...files, data: 0 } })],
    ['MB of main processes', () => ({ pssMb: new Map([['other', 100]]) })],
    ['KB of raw mail a mail', ({ grown }) => ({ grown: { ...grown, raw: 0 } })],
    ['operations under way', () => ({ pending: 0 })],
    ['reads a sample', ({ done, minute }) => ({ done: minute === 70 ? {} : done })],
    ['webhook p50 ms', ({ ms, minute }) => ({ ms: minute === 70 ? { ...ms, webhook: [] } : ms })],
  ])('%s that were not measured are found', (name, change) => {
    expect(levelFaults(samplesWith(change)).join()).toContain(`${name}: NaN in the last quarter`)
  })

  test('too few samples are found', () => {
    const few = samplesWith(() => ({})).slice(0, 19)
    expect(levelFaults(few)).toStrictEqual(['19 samples are too few to tell what is level'])
    expect(levelFaults([])).toHaveLength(1)
  })

  test('a service that has no such thing has no such measure', () => {
    const levels = levelsOf(samplesWith(() => ({ grown: {} })))
    expect(levels.map(({ name }) => name)).not.toContain('KB of raw mail a mail')
  })
})

describe('what a soak has found', () => {
  const taken = (changes: Partial<Taken> = {}): Taken => {
    const done = Object.fromEntries(Object.keys(RATES).map((name) => [name, 1]))
    return { ...openTally().take(), done, ...changes }
  }
  const again = taken({ retries: { 'HTTP 503': 2 } })
  const found = (changes: Partial<Soaked>) =>
    soakFindings({
      ...{ before: [taken()], during: again, after: [], rest: taken(), output: '{"level":"info"}' },
      ...{ secrets: [], exitCodes: [0, 0], outages: 0, faults: [], isQuick: true, ...changes },
    })
  const idle = taken({ done: { ...taken().done, deletions: 0 } })

  test.each<[string, Partial<Soaked>, string[]]>([
    ['an upgrade that makes clients try again', {}, []],
    [
      'retries before it',
      { before: [again] },
      ['2 attempts were repeated without an upgrade: 2 × HTTP 503'],
    ],
    [
      'retries at the end',
      { rest: again },
      ['2 attempts were repeated without an upgrade: 2 × HTTP 503'],
    ],
    [
      'an error during it',
      { during: taken({ failed: { 'a: 500': 1 } }) },
      ['1 operations failed: 1 × a: 500'],
    ],
    ['too few samples', { isQuick: false }, ['0 samples are too few to tell what is level']],
    ['an error in the log', { output: '{"level":"error"}\n' }, ['{"level":"error"}']],
    ['a fatal one', { output: '{"level":"fatal"}\n' }, ['{"level":"fatal"}']],
    ['a warning of Node.js', { output: '(node:7) MaxListeners\n' }, ['(node:7) MaxListeners']],
    [
      'a token in the log',
      { output: '?token=0123456789abcdef', secrets: ['0123456789abcdef'] },
      ['1 secrets in the log, such as 0123456789abcdef'],
    ],
    ['an exit with an error', { exitCodes: [0, 1] }, ['a node ended with 1']],
    ['an abort', { exitCodes: [null, 0] }, ['a node ended with null']],
    ['a node that was down', { outages: 1 }, ['1 times a node was down without an upgrade']],
    ['a fault of the load', { faults: ['mail 1 is missing'] }, ['mail 1 is missing']],
    [
      'a kind that never succeeds',
      { before: [], during: idle, rest: idle },
      ['none of the deletions succeeded'],
    ],
  ])('%s', (_, changes, findings) => {
    expect(found(changes)).toStrictEqual(findings)
  })

  test('errors of the IMAP server', () => {
    const lines = ['imap(joe): Info: Logged out', 'imap(joe): Panic: assertion failed']
    expect(dovecotErrors(lines.join('\n'))).toStrictEqual([lines[1]])
  })
})

describe('the load of a soak', () => {
  const never = () => new Promise<boolean>(() => {})

  test('counts what had something to do, and reports what is never over', async () => {
    const tally = openTally()
    const load = startAtRates(
      { polls: async () => true, reads: async () => false, mails: never },
      tally,
    )
    await waitUntil(() => load.pending() > 0)
    load.stop()
    expect(await load.idle(10)).toStrictEqual([
      `${load.pending()} × mails not over 0.01 s after the end`,
    ])
    expect(Object.keys(tally.take().done)).toStrictEqual(['polls'])
  })
})

describe('clients of a soak', () => {
  /** A service that answers one request after the other like this. */
  function clientOf(...responses: (readonly [status: number, body: object])[]) {
    const tally = openTally()
    const send = async () => {
      const [status, body] = responses.shift() ?? [200, {}]
      return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }
    }
    const unused = () => {
      throw new Error('not used here')
    }
    const request = openRequests({ send, open: unused, smtp: unused }, tally)
    const senders = openSenders(unused, tally)
    const { operations } = openMailboxes({ request, senders, tally, key: '' })
    return { operations, tally, request }
  }

  const sessionFor = (ms: number) => ({
    ...{ email: 'ann@box.test', token: 'token' },
    expires_at_iso: new Date(Date.now() + ms).toISOString(),
  })
  const LISTED = { messages: [{ id: 7 }] }

  test('what meets a restart is repeated, and counted', async () => {
    const { tally, request } = clientOf([503, {}], [200, { status: 'success' }])
    const { json } = await request('/api/domains')
    expect(json).toStrictEqual({ status: 'success' })
    expect(tally.take().retries).toStrictEqual({ 'HTTP 503': 1 })
  })

  test('a session that is gone before it expires is an error', async () => {
    const { operations } = clientOf([200, sessionFor(60_000)], [401, { code: 'invalid_token' }])
    await operations.sessions()
    await expect(operations.polls()).rejects.toThrow('/api/check-mail: 401 invalid_token')
  })

  test('one that expires meanwhile is not', async () => {
    const { operations } = clientOf([200, sessionFor(900)], [401, {}])
    await operations.sessions()
    expect(await operations.polls()).toBe(false)
  })

  test('what finds nothing to do is not counted', async () => {
    const { operations } = clientOf([200, [{ emails: [] }]])
    for (const name of ['polls', 'reads', 'deletions', 'extensions', 'emails'] as const)
      expect(await operations[name](), name).toBe(false)
  })

  test('a message that is not there is an error', async () => {
    const session = sessionFor(60_000)
    const { operations } = clientOf([200, session], [200, LISTED], [404, {}])
    await operations.sessions()
    await operations.polls()
    await expect(operations.reads()).rejects.toThrow('/api/read-mail: 404')
  })

  test('a message that may have been deleted by an attempt without a response is not', async () => {
    const session = sessionFor(60_000)
    const { operations, tally } = clientOf([200, session], [200, LISTED], [503, {}], [404, {}])
    await operations.sessions()
    await operations.polls()
    await operations.deletions()
    expect(tally.take().retries).toStrictEqual({ 'HTTP 503': 1 })
  })
})
