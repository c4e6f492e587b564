import { describe, expect, test } from 'vitest'
import { MAX_LIFETIME_SECONDS } from '../core/session.ts'
import {
  choice,
  dnsServers,
  duration,
  flag,
  hostName,
  integer,
  ipRanges,
  mailDomains,
  type ParseValue,
  size,
  sizeOrAuto,
  webAddress,
  webOrigins,
} from './values.ts'

interface Table {
  parse: ParseValue<unknown>
  taken: [given: string, value: unknown][]
  refused: [given: string, fault: RegExp][]
}

const tables: Record<string, Table> = {
  'a list of origins': {
    parse: webOrigins,
    taken: [
      ['', []],
      ['*', ['*']],
      ['https://app.test, http://localhost:3000', ['https://app.test', 'http://localhost:3000']],
    ],
    refused: [
      ['https://app.test/', /^"https:\/\/app.test\/" is no origin/],
      ['app.test', /no origin/],
      ['https://app.test/page', /no origin/],
      ['null', /no origin/],
    ],
  },
  'a flag': {
    parse: flag,
    taken: [
      ['on', true],
      ['TRUE', true],
      ['1', true],
      ['yes', true],
      ['off', false],
      ['False', false],
      ['0', false],
      ['no', false],
    ],
    refused: [
      ['maybe', /^"maybe" is neither on nor off$/],
      ['11', /neither/],
      ['on ', /neither/],
    ],
  },
  'a whole number': {
    parse: integer(1, 65_535),
    taken: [
      ['1', 1],
      ['65535', 65_535],
      ['0080', 80],
    ],
    refused: [
      ['0', /^"0" is no whole number from 1 to 65535$/],
      ['65536', /no whole number/],
      ['-1', /no whole number/],
      ['1e3', /no whole number/],
      ['0x10', /no whole number/],
      ['1.0', /no whole number/],
      [' 1', /no whole number/],
      ['١', /no whole number/],
      ['', /no whole number/],
    ],
  },
  'a choice': {
    parse: choice('debug', 'info'),
    taken: [['info', 'info']],
    refused: [
      ['Info', /^"Info" is not one of "debug", "info"$/],
      ['', /not one of/],
    ],
  },
  'a choice of one': {
    parse: choice('sqlite:'),
    taken: [['sqlite:', 'sqlite:']],
    refused: [['postgres://me:hunter2@db/x', /^"postgres:\/\/…@db\/x" is not "sqlite:"$/]],
  },
  'a duration': {
    parse: duration('1m', '3650d'),
    taken: [
      ['60s', 60],
      ['1m', 60],
      ['15m', 900],
      ['24h', 86_400],
      ['3650d', MAX_LIFETIME_SECONDS],
    ],
    refused: [
      ['59s', /^"59s" is not within 1m and 3650d$/],
      ['315360001s', /not within/],
      ['3600', /no duration; write 90s, 15m, 24h or 30d/],
      ['1w', /no duration/],
      ['1.5h', /no duration/],
      ['-1h', /no duration/],
      ['1h30m', /no duration/],
      ['99999999999s', /no duration/],
      ['', /no duration/],
    ],
  },
  'a size': {
    parse: size('1KB', '25MB'),
    taken: [
      ['1024', 1024],
      ['1kb', 1024],
      ['1024B', 1024],
      ['10MB', 10_485_760],
      ['10 MB', 10_485_760],
      ['25mb', 26_214_400],
    ],
    refused: [
      ['1023', /^"1023" is not within 1KB and 25MB$/],
      ['26MB', /not within/],
      ['1GB', /not within/],
      ['10M', /no size; write 500KB, 10MB or 1GB/],
      ['1.5MB', /no size/],
      ['-1', /no size/],
      ['auto', /no size/],
      ['', /no size/],
    ],
  },
  'a size without an upper bound': {
    parse: size('0'),
    taken: [
      ['0', 0],
      ['1TB', 1024 ** 4],
    ],
    refused: [['999999999999TB', /not within/]],
  },
  'a size or auto': {
    parse: sizeOrAuto,
    taken: [
      ['auto', 'auto'],
      ['0', 0],
      ['1GB', 1024 ** 3],
    ],
    refused: [['Auto', /no size/]],
  },
  'a web address': {
    parse: webAddress,
    taken: [
      ['', ''],
      ['https://mail.example', 'https://mail.example'],
      ['https://mail.example//', 'https://mail.example'],
      ['http://mail.example:8080/box/', 'http://mail.example:8080/box'],
    ],
    refused: [
      ['mail.example', /^"mail.example" is no http\(s\) address$/],
      ['ftp://mail.example', /no http/],
      ['javascript:alert(1)', /no http/],
      ['https://', /no http/],
      ['https://mail.example/?a=1', /no http/],
      ['https://mail.example/#a', /no http/],
      ['https://user:word@mail.example', /^"https:\/\/…@mail.example" is no http/],
    ],
  },
  'a host name': {
    parse: hostName,
    taken: [
      ['MX.Mail.Example', 'mx.mail.example'],
      ['localhost', 'localhost'],
    ],
    refused: [
      ['mx mail', /^"mx mail" is no host name$/],
      ['mx\r\n220 evil', /^"mx\\r\\n220 evil" is no host name$/],
      ['', /no host name/],
    ],
  },
  'mail domains': {
    parse: mailDomains,
    taken: [
      ['', []],
      ['a.example', ['a.example']],
      [' A.example , b.example,', ['a.example', 'b.example']],
      ['a.example,A.EXAMPLE', ['a.example']],
      ['bücher.example', ['xn--bcher-kva.example']],
    ],
    refused: [
      ['a.example,example', /^"example" is no domain name$/],
      ['a b.example', /no domain name/],
      ['a.example;b.example', /no domain name/],
      ['@a.example', /no domain name/],
    ],
  },
  'name servers': {
    parse: dnsServers,
    taken: [
      ['', []],
      ['9.9.9.9, ::1', ['9.9.9.9', '::1']],
      ['127.0.0.1:5353,[::1]:5353', ['127.0.0.1:5353', '[::1]:5353']],
    ],
    refused: [
      ['9.9.9.9,dns.example', /^"dns.example" is no address such as 9\.9\.9\.9/],
      ['9.9.9.9:0', /is no address/],
      ['9.9.9.9:65536', /is no address/],
      ['[9.9.9.9]:53', /is no address/],
      ['9.9.9:53', /is no address/],
      ['9.9.9.9/24', /is no address/],
    ],
  },
  'IP ranges': {
    parse: ipRanges,
    taken: [
      ['', []],
      ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ],
    refused: [
      ['10.0.0.0/8,proxy', /^"proxy" is no IP address and no CIDR range$/],
      ['10.0.0.0/33', /no IP address/],
    ],
  },
}

for (const [name, { parse, taken, refused }] of Object.entries(tables)) {
  describe(name, () => {
    for (const [given, value] of taken) {
      test(`may be ${JSON.stringify(given)}`, () => expect(parse(given)).toEqual(value))
    }
    for (const [given, fault] of refused) {
      test(`may not be ${JSON.stringify(given)}`, () => expect(() => parse(given)).toThrow(fault))
    }
  })
}

test('a fault shows only the beginning of an endless value', () => {
  expect(() => flag('x'.repeat(5000))).toThrow(/^"x{100}…" is neither on nor off$/)
})
