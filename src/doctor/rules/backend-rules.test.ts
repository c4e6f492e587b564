import { describe, expect, test } from 'vitest'
import { evaluatePostgres, evaluateRedis, evaluateStoreFault } from './backend-rules.ts'

describe('PostgreSQL', () => {
  const facts = {
    version: 170_002,
    role: 'mayfly',
    usedConnections: 40,
    maxConnections: 100,
    requiredStandbys: '',
    standbys: [],
    offsetMs: 10,
  }
  const standbys = (requiredStandbys: string, ...states: (string | null)[]) => {
    const name = (state: string | null) => (state === null ? null : 'b')
    return { requiredStandbys, standbys: states.map((state) => ({ name: name(state), state })) }
  }
  for (const [name, changed, status, fix] of [
    ['right', {}, 'ok', ''],
    ['too old', { version: 140_010 }, 'failure', 'PostgreSQL 15'],
    ['not durable', { durabilityFault: 'fsync is off' }, 'failure', 'SET fsync = on'],
    ['an asynchronous standby', standbys('', 'async'), 'ok', ''],
    ['an asynchronous standby that is hidden', standbys('', null), 'ok', ''],
    ['with a synchronous standby', standbys('b', 'sync'), 'ok', ''],
    ['one of a quorum', standbys('ANY 1 (b, c)', 'quorum'), 'ok', ''],
    ['both of a quorum', standbys('any 2 (b,c)', 'quorum', 'quorum'), 'ok', ''],
    ['one of a quorum of two', standbys('ANY 2 (b, c)', 'quorum'), 'failure', 'Start the standby'],
    ['the first of two', standbys('FIRST 2 (b, c)', 'sync'), 'failure', 'Start the standby'],
    ['two as in old versions', standbys('2 (b, c)', 'sync', 'sync'), 'ok', ''],
    ['only an asynchronous standby', standbys('b', 'async'), 'failure', 'Start the standby'],
    ['no standby', standbys('b'), 'failure', 'docs/scaling.md#failover'],
    ['a hidden standby', standbys('b', null), 'warning', 'GRANT pg_read_all_stats TO mayfly;'],
    ['too few hidden ones', standbys('ANY 2 (b, c)', null), 'failure', 'Start the standby'],
    ['another clock', { offsetMs: -2_001 }, 'warning', 'set-ntp'],
    ['a standby', { readOnly: 'standby' }, 'failure', 'MAYFLY_STORE to the primary'],
    ['read-only', { readOnly: 'setting' }, 'failure', 'default_transaction_read_only = off'],
    ['unreachable', { fault: { seen: 'x', fix: 'start it' } }, 'failure', 'start it'],
    ['nearly all connections used', { usedConnections: 81 }, 'warning', 'max_connections = 200'],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluatePostgres({ ...facts, ...changed })
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
      expect(result.fix, 'durability is never given up').not.toContain('RESET')
    })
  }
})

describe('a store that could not be opened although PostgreSQL answers', () => {
  const MESSAGE = 'Do as the message says'
  for (const [fault, fix] of [
    ['PostgreSQL refuses us: permission denied for schema mail', 'make it the owner of the schema'],
    ['PostgreSQL cannot be reached: connect ECONNREFUSED', 'run the command again'],
    ['This database holds an unfinished move. Run `mayfly migrate` again', MESSAGE],
    ['mail in PostgreSQL has schema 3, this program needs 4. Stop all nodes', MESSAGE],
  ] as const) {
    test(fault, () =>
      expect(evaluateStoreFault(fault)).toEqual({
        status: 'failure',
        seen: fault,
        fix: expect.stringContaining(fix),
      }),
    )
  }
})

describe('Redis', () => {
  const facts = { version: '7.0.15', usedBytes: 91, maxBytes: 0 }
  for (const [name, found, status, fix] of [
    ['without a limit', facts, 'ok', ''],
    ['nearly full', { ...facts, maxBytes: 100 }, 'warning', 'Raise maxmemory'],
    ['half full', { ...facts, maxBytes: 182 }, 'ok', ''],
    ['down', { error: 'connect ECONNREFUSED' }, 'failure', 'Start Redis'],
    ['with TLS', { error: 'Socket closed unexpectedly' }, 'failure', 'rediss://'],
    ['a cluster', { error: 'MOVED 3999 127.0.0.1:6381' }, 'failure', 'Redis Cluster'],
    ['loading', { error: 'LOADING Redis is loading the dataset' }, 'failure', 'the log of Redis'],
    ['an unknown name', { error: 'getaddrinfo ENOTFOUND x' }, 'failure', 'Correct the host name'],
    ['a private CA', { error: 'self-signed certificate' }, 'failure', 'NODE_EXTRA_CA_CERTS'],
  ] as const) {
    test(`${name}: ${status}`, () =>
      expect(evaluateRedis(found)).toMatchObject({ status, fix: expect.stringContaining(fix) }))
  }
})
