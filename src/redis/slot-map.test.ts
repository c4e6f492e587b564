import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openRedis } from '../../test/support/redis.ts'
import { readUrl, serverAt } from './client-options.ts'
import { openSlotMap } from './slot-map.ts'

const ROOT = serverAt('root.test', 6379)

describe('the server of a key', () => {
  test('is the one that Redis computes', async () => {
    const server = await openRedis({ cluster: true })
    const slotMap = openSlotMap([ROOT])
    // Each slot has its own server, identified by its port.
    const slots = Array.from({ length: 16_384 }, (_, slot) => slot)
    slotMap.learn(
      slots.map((slot) => ({ from: slot, to: slot, master: { host: 'a.test', port: slot } })),
      ROOT,
    )
    const keys = ['', 'a', 'mayfly:rate:x_y-z', 'mayfly:news:{7}', '{}x', 'a{b', 'a{}{c}', '{a}{b}']
    for (const key of [...keys, 'é}{ü}', 'a{{b}}c']) {
      const slot = Number(await server.run('CLUSTER', 'KEYSLOT', key))
      assert.equal(slotMap.of(key).port, slot, key)
    }
    await server.close()
  })

  test('is the first one until MOVED names another', () => {
    const slotMap = openSlotMap([ROOT, serverAt('other.test', 6379)])
    assert.equal(slotMap.of('a'), ROOT)
    assert.equal(slotMap.follow(new Error('ERR unknown command'), ROOT), false)
    assert.equal(slotMap.follow(new Error('MOVED 15495 10.0.0.7:7000'), ROOT), true)
    assert.deepEqual(slotMap.of('a'), serverAt('10.0.0.7', 7000))
    assert.equal(slotMap.of('b'), ROOT)
    assert.equal(slotMap.follow(new Error('MOVED 15495 :7001'), ROOT), true)
    assert.deepEqual(slotMap.of('a'), serverAt('root.test', 7001))
    assert.equal(slotMap.servers().length, 3)
  })

  test('a server that omits its own host name is the one that was queried', () => {
    const slotMap = openSlotMap([ROOT])
    slotMap.learn([{ from: 0, to: 16_383, master: { host: null, port: 7000 } }], ROOT)
    assert.deepEqual(slotMap.of('a'), serverAt('root.test', 7000))
  })
})

describe('a URL', () => {
  for (const [url, servers, access] of [
    ['redis://a.test', 'a.test:6379', { tls: false, database: 0 }],
    ['rediss://a.test:7000/3', 'a.test:7000', { tls: true, database: 3 }],
    ['redis://[::1]:7000', '::1:7000', {}],
    ['redis://ann:p%40s%2Cs@a.test', 'a.test:6379', { username: 'ann', password: 'p@s,s' }],
    [
      'redis://:x@a.test, redis://b.test:7000',
      'a.test:6379 b.test:7000',
      { username: undefined, password: 'x' },
    ],
  ] as const) {
    test(url, () => {
      const read = readUrl(url)
      assert.equal(read.roots.map(({ name }) => name).join(' '), servers)
      assert.deepEqual({ ...read.access, ...access }, read.access)
    })
  }

  test('that is invalid is rejected without quoting it', () => {
    for (const url of ['', 'http://ann:secret@a.test', 'redis://ann:sec ret@a b']) {
      assert.throws(
        () => readUrl(url),
        (error) =>
          error instanceof Error && !/secret|ann|sec/.test(`${error.stack?.split('\n')[0]}`),
      )
    }
  })
})
