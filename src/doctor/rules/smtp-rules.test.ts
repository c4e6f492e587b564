import { describe, expect, test } from 'vitest'
import { evaluatePublicSmtp, type Greeting } from './smtp-rules.ts'

const HOST = 'mx.example.org'
const [FOUR, SIX] = ['203.0.113.7', '2001:db8::7']
const facts = {
  host: HOST,
  port: 2525,
  publicPort: 25,
  local: { address: '127.0.0.1', greeting: `220 ${HOST}` },
  domain: 'box.example.org',
  listens: '::',
  own: [FOUR, SIX],
}
const closed = (address: string): Greeting => ({ address, error: 'connect ECONNREFUSED' })
const greets = (address: string, name: string): Greeting => ({ address, greeting: `220 ${name}` })

describe('SMTP as others reach it', () => {
  const RECORD = 'mx.example.org. 3600 IN A 203.0.113.7'
  for (const [name, found, changed, status, fix] of [
    ['our server', [greets(FOUR, HOST), greets(SIX, HOST)], {}, 'ok', ''],
    ['a closed port', [closed(FOUR)], {}, 'warning', 'open port 25 in the firewall'],
    [
      'closed, and on loopback only',
      [closed(FOUR)],
      { listens: '127.0.0.1' },
      'warning',
      'MAYFLY_HOST=::',
    ],
    [
      'closed, and on localhost',
      [closed(FOUR)],
      { listens: 'localhost' },
      'warning',
      'MAYFLY_HOST=::',
    ],
    [
      'IPv6 closed, and on IPv4 only',
      [greets(FOUR, HOST), closed(SIX)],
      { listens: '0.0.0.0' },
      'warning',
      'MAYFLY_HOST=:: and restart the service, or remove the AAAA record',
    ],
    [
      'closed, and on its own address',
      [closed(FOUR)],
      { listens: FOUR },
      'warning',
      'in the firewall and at',
    ],
    [
      'another server here',
      [greets(FOUR, 'other.test')],
      {},
      'failure',
      'Stop the other mail server on this machine',
    ],
    [
      'another server elsewhere',
      [greets('198.51.100.1', 'other.test')],
      {},
      'failure',
      `If 198.51.100.1 is not this machine, correct the address of ${HOST} in DNS\n${RECORD}`,
    ],
    [
      'another server behind NAT',
      [greets(FOUR, 'other.test')],
      { own: [] },
      'failure',
      `If ${FOUR} is not this machine`,
    ],
  ] as const) {
    test(`${name}: ${status}`, () => {
      const result = evaluatePublicSmtp({ ...facts, ...changed, found })
      expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
    })
  }
})
