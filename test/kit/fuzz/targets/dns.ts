import { createSocket, type Socket } from 'node:dgram'
import dnsCodes from 'node:dns'
import { once } from 'node:events'
import { isIPv4, isIPv6 } from 'node:net'
import type { Host } from '../../../../src/base/address.ts'
import { isTlsaSigned } from '../../../../src/doctor/probes/dnssec.ts'
import { openOwnDomainDns } from '../../../../src/domains/own/dns.ts'
import { openDns } from '../../../../src/sender-auth/dns.ts'
import { type DnsAnswer, type DnsQuery, RECORD_TYPES } from '../../../../src/sender-auth/job.ts'
import { check, type FuzzTarget } from '../target.ts'

const NAME = 'shop.test'
let answer: Buffer = Buffer.alloc(0)
let socket: Socket

const u16 = (...numbers: number[]) => numbers.flatMap((one) => [one >> 8, one & 255])
const record = (type: number, content: number[]) => [
  ...[0xc0, 0x0c, ...u16(type, 1, 0, 60, content.length)],
  ...content,
]
const text = (value: string) => [value.length, ...Buffer.from(value)]
const name = (value: string) => [...value.split('.').flatMap(text), 0]
/** Without the id and the question, which are those of the query. */
const packet = (flags: number, ...records: number[][]) =>
  Buffer.from([...u16(flags, 1, records.length, 0, 0), ...records.flat()])

const isText = (one: unknown) => typeof one === 'string'
const SHAPES = {
  A: (one: unknown) => isText(one) && isIPv4(String(one)),
  AAAA: (one: unknown) => isText(one) && isIPv6(String(one)),
  CNAME: isText,
  MX: (one: unknown) => isText(Object(one).exchange) && Number.isInteger(Object(one).priority),
  PTR: isText,
  TXT: (one: unknown) => Array.isArray(one) && one.every(isText),
}
/** What an answer may be taken for. */
const CODES = new Set<unknown>(Object.values(dnsCodes))
const CNAME = Buffer.from(u16(5, 1))
const NO_RECORDS = packet(0x8580)
const AD_BIT = 0x20
const RRSIG = Buffer.from([0, 46])

/** The answers of a name server, to each of our resolvers. */
export const target: FuzzTarget = {
  seeds: [
    packet(0x8580, record(1, [127, 0, 0, 1]), record(1, [10, 0, 0, 1])),
    packet(0x8580, record(28, [...Array(15).fill(0), 1])),
    packet(
      0x8580,
      record(16, [...text('v=spf1 include:a.test -all'), ...text('mayfly-verification=x')]),
    ),
    packet(0x8580, record(2, name('ns.shop.test')), record(5, name('other.test'))),
    packet(0x8580, record(6, [...name('a.test'), ...name('b.test'), ...Array(20).fill(1)])),
    packet(0x8580, record(15, [0, 10, ...name('mx.test')]), record(15, [0, 0, 0])),
    packet(
      0x85a0,
      record(52, [3, 1, 1, ...Array(32).fill(7)]),
      record(46, Array(40).fill(2)),
      record(41, []),
    ),
    // All that verifies a domain.
    packet(
      0x8580,
      record(2, name('ns.shop.test')),
      record(1, [127, 0, 0, 1]),
      record(6, [...name('a.test'), ...name('b.test'), ...Array(20).fill(1)]),
      record(16, text('mayfly-verification=x')),
    ),
    packet(0x8183),
    packet(0x8382, record(1, [1])),
  ],
  tokens: [
    ...['\0', '\x01', '\xc0\x0c', '\xc0\xff', '\xff\xff', '\x3f', '\x40', '\x80'],
    ...['\0\x10\0\x01', '\0\x2e', '\0\x29', '\0\x05\0\x01', '\0\x0f\0\x01'],
  ].map((bytes) => Buffer.from(bytes, 'latin1')),
  maxBytes: 600,
  async open() {
    socket = createSocket('udp4')
    socket.on('message', (query, { port, address }) => {
      const end = query.indexOf(0, 12) + 5
      // Node.js would take any answer for an alias.
      const isAnswered = answer.includes(CNAME) || !query.subarray(end - 4, end).equals(CNAME)
      const sent = isAnswered ? answer : NO_RECORDS
      const parts = [
        query.subarray(0, 2),
        sent.subarray(0, 10),
        query.subarray(12, end),
        sent.subarray(10),
      ]
      socket.send(Buffer.concat(parts), port, address)
    })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return async () => void socket.close()
  },
  async run(input) {
    answer = input
    const server = `127.0.0.1:${socket.address().port}`
    const dns = openDns({ servers: [server], now: () => new Date() })
    const timeout = AbortSignal.timeout(50)
    const signed = isTlsaSigned(server, NAME)
    const own = openOwnDomainDns(
      { senderChecks: { dns: [server] }, ownDomains: { nameServers: [server] } },
      { queryMs: 50, totalMs: 150 },
    )(NAME as Host)
    let isAnswered = false
    for (const type of RECORD_TYPES) {
      const found = await dns.resolve({ name: NAME, type }, timeout)
      isAnswered = hasRecords(type, found) || isAnswered
    }
    dns.close()
    const { texts } = await own
    for (const one of texts) check(one.length <= input.length, 'a text that was not sent')
    const mayBeSigned = ((input[1] ?? 0) & AD_BIT) !== 0 || input.includes(RRSIG)
    check((await signed) !== true || mayBeSigned, 'signed without a signature')
    return isAnswered || texts.size > 0
  },
}

function hasRecords(type: DnsQuery['type'], found: DnsAnswer): boolean {
  if ('error' in found) {
    check(CODES.has(found.error), `an error: ${found.error}`)
    return false
  }
  for (const one of found.records) {
    check(SHAPES[type](one), `a record of type ${type}: ${JSON.stringify(one)}`)
  }
  return found.records.length > 0
}
