import { expect, test } from 'vitest'
import { checkHistory, type Rule } from './kit/nodes/check-history.ts'
import { unexplainedStarts } from './kit/nodes/failed-starts.ts'
import type { Entry } from './kit/nodes/history.ts'
import { countChecked } from './kit/nodes/history-counts.ts'
import { leakedSecrets, loggedErrors } from './kit/nodes/logs.ts'

// The checker of the campaign's cluster: a clean history, and one planted violation of each kind.

type Planned = Entry extends infer One
  ? One extends Entry
    ? Omit<One, keyof Timing>
    : never
  : never
interface Timing {
  client: string
  node: string
  start: number
  end: number
  result: Entry['result']
}

/** An entry of ten milliseconds; `more` overrides what is usual. */
function at(start: number, entry: Planned, more: Partial<Timing> = {}): Entry {
  return {
    ...{ client: 'client', node: 'node1', start, end: start + 10, result: 'done' },
    ...entry,
    ...more,
  }
}

const send = (mail: string, session: string) =>
  ({ kind: 'send', mail, session, sha256: `hash of ${mail}` }) as const
const list = (session: string, mails: string[], holder = session) =>
  ({
    kind: 'list',
    session,
    holder,
    mails: mails.map((mail) => ({ id: Number(mail.slice(1)), mail })),
  }) as const
const read = (mail: string, session: string, holder = session) =>
  ({ kind: 'read', session, holder, mail, sha256: `hash of ${mail}` }) as const
const remove = (mail: string, session: string, holder = session) =>
  ({ kind: 'delete', session, holder, mail }) as const
const delivery = (mail: string) =>
  ({ kind: 'delivery', webhook: 'hook', id: Number(mail.slice(1)), mail }) as const
const lease = (holder: string) => ({ kind: 'lease', name: 'sweep', holder }) as const
const request = { kind: 'request', key: 'small', mails: [] } as const

const CLEAN: readonly Entry[] = [
  at(0, { kind: 'create', address: 'ann@box.test', session: 'ann' }),
  at(0, { kind: 'create', address: 'ann@box.test', session: 'ann2' }, { result: 'refused' }),
  at(0, { kind: 'create', address: 'ann@box.test', session: 'ann3' }, { result: 'unknown' }),
  at(0, { kind: 'create', address: 'bob@box.test', session: 'bob', key: 'large' }),
  at(0, { kind: 'issue', key: 'large', requests: 1_000 }),
  at(0, { kind: 'issue', key: 'small', requests: 3 }),
  at(0, { kind: 'subscribe', webhook: 'hook', key: 'large' }),
  at(100, send('m1', 'ann')),
  at(100, send('m2', 'ann'), { result: 'unknown' }),
  at(100, send('m3', 'ann'), { result: 'unknown' }),
  // Started before the 250.
  at(105, list('ann', [])),
  at(120, list('ann', ['m1', 'm3']), { node: 'node2' }),
  at(120, list('ann', []), { node: 'node3', result: 'unknown' }),
  at(125, read('m1', 'ann'), { node: 'node3' }),
  at(130, send('m4', 'ann')),
  at(150, remove('m1', 'ann')),
  at(150, remove('m4', 'ann'), { result: 'unknown' }),
  at(155, list('ann', ['m1', 'm3', 'm4'])),
  at(170, list('ann', ['m3', 'm4'])),
  at(190, list('ann', ['m3'])),
  at(200, list('ann', [], 'nobody'), { result: 'refused' }),
  at(200, read('m4', 'ann', 'bob'), { result: 'refused' }),
  at(200, read('m4', 'ann', 'large'), { result: 'refused' }),
  at(200, read('m3', 'ann', 'bob'), { node: 'node2', result: 'refused' }),
  at(200, read('m3', 'ann', 'large'), { node: 'node2', result: 'refused' }),
  at(200, remove('m3', 'ann', 'bob'), { result: 'refused' }),
  at(300, send('m5', 'bob')),
  at(320, send('m6', 'bob')),
  at(340, list('bob', ['m6', 'm5'])),
  at(350, { kind: 'request', key: 'large', mails: ['m5', 'm6'] }),
  at(310, delivery('m5'), { result: 'refused' }),
  at(330, delivery('m5')),
  at(350, delivery('m6')),
  // Repeated because its 2xx was lost.
  at(370, delivery('m5')),
  at(400, request),
  at(410, request, { result: 'unknown' }),
  at(420, request),
  at(440, request, { result: 'refused' }),
  at(500, lease('one')),
  at(600, lease('one')),
  at(700, lease('two')),
  at(800, { kind: 'suspend' }, { node: 'node2', end: 900 }),
  at(850, lease('three')),
  at(860, lease('four'), { node: 'node2' }),
  at(870, lease('three')),
]

const PLANTED: readonly [Rule, string, readonly Entry[]][] = [
  ['lost', 'm7', [at(1_000, send('m7', 'ann')), at(1_020, list('ann', ['m3']))]],
  [
    'lost',
    'm7',
    [
      at(1_000, send('m7', 'ann')),
      at(1_020, list('ann', ['m3', 'm7'])),
      at(1_040, list('ann', ['m3']), { node: 'node2' }),
    ],
  ],
  ['lost', 'm5', [at(1_000, read('m5', 'bob'), { result: 'refused' })]],
  // A stranger's request to delete it is no excuse.
  [
    'lost',
    'm7',
    [
      at(1_000, send('m7', 'ann')),
      at(1_020, remove('m7', 'ann', 'bob'), { result: 'unknown' }),
      at(1_040, list('ann', ['m3'])),
    ],
  ],
  [
    'late',
    'm7',
    [
      at(1_000, send('m7', 'ann')),
      at(1_020, list('ann', ['m3']), { node: 'node2' }),
      at(1_040, list('ann', ['m3', 'm7']), { node: 'node2' }),
    ],
  ],
  ['never looked for', 'm7', [at(1_000, send('m7', 'ann'))]],
  ['doubled', 'm6', [at(1_000, list('bob', ['m6', 'm6', 'm5']))]],
  [
    'doubled',
    'm5',
    [
      at(1_000, {
        ...list('bob', []),
        mails: [
          { id: 6, mail: 'm6' },
          { id: 50, mail: 'm5' },
        ],
      }),
    ],
  ],
  ['changed', 'm5', [at(1_000, { ...read('m5', 'bob'), sha256: 'another' })]],
  ['back after its deletion', 'm1', [at(1_000, list('ann', ['m1', 'm3']))]],
  [
    'two owners',
    'bob@box.test',
    [at(1_000, { kind: 'create', address: 'bob@box.test', session: 'eve' })],
  ],
  ['session lost', 'ann', [at(1_000, list('ann', []), { result: 'refused' })]],
  ['session lost', 'ann', [at(1_000, send('m7', 'ann'), { result: 'refused' })]],
  ['foreign', 'ann', [at(1_000, list('ann', [], 'nobody'))]],
  ['foreign', 'm3', [at(1_000, list('bob', ['m6', 'm5', 'm3']))]],
  ['foreign', 'm3', [at(1_000, read('m3', 'ann', 'bob'))]],
  ['foreign', 'm3', [at(1_000, read('m3', 'ann', 'large'))]],
  ['foreign', 'm5', [at(1_000, remove('m5', 'bob', 'ann'))]],
  ['foreign', 'm3', [at(1_000, { kind: 'request', key: 'large', mails: ['m3'] })]],
  ['foreign', 'm3', [at(320, delivery('m3'))]],
  [
    'never attacked',
    'node3',
    [
      at(1_000, list('ann', ['m3']), { node: 'node3' }),
      at(1_020, read('m3', 'ann', 'large'), { node: 'node3', result: 'refused' }),
    ],
  ],
  [
    'never attacked',
    'node3',
    [
      at(1_000, list('ann', ['m3']), { node: 'node3' }),
      at(1_020, read('m3', 'ann', 'bob'), { node: 'node3', result: 'refused' }),
      at(1_020, read('m3', 'ann', 'large'), { node: 'node3', result: 'unknown' }),
    ],
  ],
  ['over the plan', 'small', [at(1_000, request), at(1_000, request)]],
  [
    'under the plan',
    'tiny',
    [
      at(1_000, { kind: 'issue', key: 'tiny', requests: 2 }),
      at(1_010, { ...request, key: 'tiny' }),
      at(1_030, { ...request, key: 'tiny' }, { result: 'refused' }),
    ],
  ],
  [
    'not delivered',
    'm7',
    [
      at(1_000, send('m7', 'bob')),
      at(1_020, list('bob', ['m7', 'm6', 'm5'])),
      at(1_020, delivery('m7'), { result: 'refused' }),
    ],
  ],
  [
    'delivered out of order',
    'm4',
    [
      at(1_000, { kind: 'subscribe', webhook: 'other', key: 'large' }),
      at(1_020, { ...delivery('m6'), webhook: 'other' }),
      at(1_040, { ...delivery('m5'), webhook: 'other', mail: 'm4' }),
    ],
  ],
  // It was shown in the mailbox, and therefore is stored.
  [
    'not delivered',
    'm7',
    [
      at(1_000, send('m7', 'bob'), { result: 'unknown' }),
      at(1_020, list('bob', ['m7', 'm6', 'm5'])),
    ],
  ],
  // A later one was delivered before it was deleted.
  [
    'not delivered',
    'm7',
    [
      at(1_000, send('m7', 'bob')),
      at(1_000, send('m8', 'bob')),
      at(1_020, list('bob', ['m8', 'm7', 'm6', 'm5'])),
      at(1_040, delivery('m8')),
      at(1_060, remove('m7', 'bob')),
    ],
  ],
  // The first attempt failed, and the later one did not wait for the second.
  [
    'delivered out of order',
    'm7',
    [
      at(1_000, send('m7', 'bob')),
      at(1_000, send('m8', 'bob')),
      at(1_020, list('bob', ['m8', 'm7', 'm6', 'm5'])),
      at(1_040, delivery('m7'), { result: 'refused' }),
      at(1_060, delivery('m8')),
      at(1_080, delivery('m7')),
    ],
  ],
  ['two holders', 'sweep', [at(1_000, lease('one'))]],
  [
    'two holders',
    'sweep',
    // In turns, each for one delivery.
    [
      at(2_000, lease('five')),
      at(2_500, lease('six'), { node: 'node3' }),
      at(3_000, lease('seven')),
      at(3_500, lease('eight'), { node: 'node3' }),
    ],
  ],
  [
    'two holders',
    'sweep',
    [
      at(1_000, lease('five')),
      at(1_005, lease('six'), { node: 'node2', start: 5_000 }),
      at(6_000, lease('five')),
    ],
  ],
]

test('a clean history has no violations', () => {
  expect(checkHistory(CLEAN)).toStrictEqual([])
})

test.each(PLANTED)('planted: %s (%s)', (rule, subject, entries) => {
  const found = checkHistory([...CLEAN, ...entries])
  expect(found).toContainEqual({ rule, subject, detail: expect.any(String) })
  expect(new Set(found.map((one) => one.subject)).size).toBe(1)
})

test('a mail that was deleted before its turn need not be delivered', () => {
  const deleted = [
    at(1_000, send('m7', 'bob')),
    at(1_000, send('m8', 'bob')),
    at(1_020, list('bob', ['m8', 'm7', 'm6', 'm5'])),
    at(1_040, remove('m7', 'bob')),
    at(1_060, delivery('m8')),
  ]
  expect(checkHistory([...CLEAN, ...deleted])).toStrictEqual([])
})

test('only what was checked is counted', () => {
  expect(countChecked(CLEAN)).toStrictEqual({
    'acknowledged mails': 4,
    'polls of a mailbox': 6,
    'polls right after a 250': 0,
    'mails read': 1,
    deletions: 1,
    'foreign attempts refused': 6,
    'addresses with several applicants': 1,
    'requests with keys': 3,
    'plans used up': 1,
    'mails delivered to webhooks': 2,
    'leases held': 0,
  })
  const watched = { client: 'watcher' }
  const leases = [at(1_000, lease('five'), watched), at(1_010, lease('five'), watched)]
  expect(countChecked(leases)['leases held']).toBe(1)
})

const start = { name: 'node1', start: 1_000, end: 3_000 } as const
const UNREACHABLE = 'mayfly serve ended with 1 at once: PostgreSQL cannot be reached'
const KILLED = 'mayfly serve ended with null at once'

test.each([
  [true, 'primary killed', 'postgres1', 500, UNREACHABLE],
  [true, 'node isolated', 'node1', 2_500, UNREACHABLE],
  [true, 'node killed', 'node1', 500, KILLED],
  [false, 'node killed', 'node1', 500, UNREACHABLE],
  [false, 'node isolated', 'node2', 500, UNREACHABLE],
  [false, 'Redis killed', 'redis', 500, UNREACHABLE],
  [false, 'primary killed', 'postgres1', 500, KILLED],
  [false, 'primary killed', 'postgres1', 3_500, UNREACHABLE],
  [false, 'primary killed', 'postgres1', -40_000, UNREACHABLE],
])('a failed start is explained (%s) by: %s (%s) at %i', (isExplained, kind, on, from, message) => {
  const faults = [{ kind, on, start: from, end: from + 1_000 }]
  const found = unexplainedStarts([{ ...start, message }], faults)
  expect(found).toHaveLength(isExplained ? 0 : 1)
})

test('secrets and errors in a log are found', () => {
  const secrets = ['the-token-of-ann', 'the-token-of-bob', 'the-key-of-somebody']
  const log =
    '{"level":"info","msg":"xthe-token-of-bobx"}\n{"level":"error","msg":"the-token-of"}\n'
  expect(leakedSecrets(log, secrets)).toStrictEqual(['the-token-of-bob'])
  expect(loggedErrors(log)).toStrictEqual(['{"level":"error","msg":"the-token-of"}'])
})
