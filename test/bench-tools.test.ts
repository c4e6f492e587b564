import { describe, expect, test } from 'vitest'
import { levelFaults, levelsOf } from '../bench/tools/soak/levels.ts'
import { openMailboxes } from '../bench/tools/soak/mailboxes.ts'
import { openRequests } from '../bench/tools/soak/requests.ts'
import type { Sample } from '../bench/tools/soak/samples.ts'
import { openSenders } from '../bench/tools/soak/senders.ts'
import { LATENCIES, openTally } from '../bench/tools/soak/tally.ts'

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
      files: { data: 150 * noise, wal: 30 },
      grown: { log: 0.02, raw: 20 },
      done: { mails: 4_800 },
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
    'MB of memory': ({ pssMb }, factor) => ({
      pssMb: new Map([...pssMb].map(([name, mb]) => [name, mb * factor])),
    }),
    descriptors: ({ descriptors }, factor) => ({ descriptors: descriptors * factor }),
    'MB of data': ({ files }, factor) => ({ files: { ...files, data: files.data * factor } }),
    'MB of WAL': ({ files }, factor) => ({ files: { ...files, wal: files.wal * factor ** 2 } }),
    'KB of log a sample': ({ grown }, factor) => ({ grown: { ...grown, log: 0.02 * factor ** 2 } }),
    'KB of raw mail a mail': ({ grown }, factor) => ({ grown: { ...grown, raw: 20 * factor } }),
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
  }

  test('each measure has a series that is planted here', () => {
    const levels = levelsOf(samplesWith(() => ({})))
    expect(levels.map(({ name }) => name)).toStrictEqual(Object.keys(GROWING))
  })

  test.each(Object.entries(GROWING))('%s that grow are found, and nothing else', (name, change) => {
    const faults = levelFaults(samplesWith(change))
    expect(faults.map((fault) => fault.split(':')[0])).toStrictEqual([name])
  })

  test.each<[string, Change]>([
    ['MB of memory', () => ({ pssMb: new Map() })],
    ['descriptors', () => ({ descriptors: 0 })],
    ['MB of data', ({ files }) => ({ files: { ...files, data: 0 } })],
    ['webhook p50 ms', ({ ms, minute }) => ({ ms: minute === 70 ? { ...ms, webhook: [] } : ms })],
  ])('%s that were not measured are found', (name, change) => {
    expect(levelFaults(samplesWith(change)).join()).toContain(`${name}: NaN in the last quarter`)
  })

  test('a service that has no such thing has no such measure', () => {
    const levels = levelsOf(samplesWith(() => ({ grown: {} })))
    expect(levels.map(({ name }) => name)).not.toContain('KB of raw mail a mail')
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
    await operations.polls()
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
