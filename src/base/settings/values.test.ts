import { describe, expect, test } from 'vitest'
import { MAX_LIFETIME_SECONDS } from '../../mail/rules/session.ts'
import {
  choice,
  dnsServers,
  duration,
  flag,
  hostName,
  httpUrl,
  integer,
  ipRanges,
  mailDomains,
  origins,
  type ParseValue,
  redisUrl,
  size,
  sizeOrAuto,
} from './values.ts'

interface Table {
  parse: ParseValue<unknown>
  accepted: [given: string, value: unknown][]
  refused: [given: string, fault: RegExp][]
}

const tables: Record<string, Table> = {
  'a list of origins': {
    parse: origins,
    accepted: [
      ['', []],
      ['*', ['*']],
      ['https://app.test, http://localhost:3000', ['https://app.test', 'http://localhost:3000']],
    ],
    refused: [
      ['https://app.test/', /^"https:\/\/app.test\/" is not an origin/],
      ['app.test', /not an? origin/],
      ['https://app.test/page', /not an? origin/],
      ['null', /not an? origin/],
    ],
  },
  'a Redis URL': {
    parse: redisUrl,
    accepted: [
      ['', ''],
      ['rediss://:a%2Cb@redis.test:6379/1', 'rediss://:a%2Cb@redis.test:6379/1'],
    ],
    refused: [
      ['redis:redis.test', /^must be a URL such as/],
      ['redis://a:6379,redis://b:6379', /^must be one URL such as redis:.* no longer supported/],
      ['redis://a, redis://b', /^must be one URL/],
      ['redis://a,b', /^must be one URL/],
    ],
  },
  'a flag': {
    parse: flag,
    accepted: [
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
      ['maybe', /^"maybe" is not on or off$/],
      ['11', /not on or off/],
      ['on ', /not on or off/],
    ],
  },
  'a whole number': {
    parse: integer(1, 65_535),
    accepted: [
      ['1', 1],
      ['65535', 65_535],
      ['0080', 80],
    ],
    refused: [
      ['0', /^"0" is not a whole number from 1 to 65535$/],
      ['65536', /not a whole number/],
      ['-1', /not a whole number/],
      ['1e3', /not a whole number/],
      ['0x10', /not a whole number/],
      ['1.0', /not a whole number/],
      [' 1', /not a whole number/],
      ['١', /not a whole number/],
      ['', /not a whole number/],
    ],
  },
  'a choice': {
    parse: choice('debug', 'info'),
    accepted: [['info', 'info']],
    refused: [
      ['Info', /^"Info" is not one of "debug", "info"$/],
      ['', /not one of/],
    ],
  },
  'a choice with one value': {
    parse: choice('sqlite:'),
    accepted: [['sqlite:', 'sqlite:']],
    refused: [['postgres://me:hunter2@db/x', /^"postgres:\/\/…@db\/x" is not "sqlite:"$/]],
  },
  'a duration': {
    parse: duration('1m', '3650d'),
    accepted: [
      ['60s', 60],
      ['1m', 60],
      ['15m', 900],
      ['24h', 86_400],
      ['3650d', MAX_LIFETIME_SECONDS],
    ],
    refused: [
      ['59s', /^"59s" is not between 1m and 3650d$/],
      ['315360001s', /not between/],
      ['3600', /not a duration such as 90s, 15m, 24h or 30d/],
      ['1w', /not a duration/],
      ['1.5h', /not a duration/],
      ['-1h', /not a duration/],
      ['1h30m', /not a duration/],
      ['99999999999s', /not a duration/],
      ['', /not a duration/],
    ],
  },
  'a size': {
    parse: size('1KB', '25MB'),
    accepted: [
      ['1024', 1024],
      ['1kb', 1024],
      ['1024B', 1024],
      ['10MB', 10_485_760],
      ['10 MB', 10_485_760],
      ['25mb', 26_214_400],
    ],
    refused: [
      ['1023', /^"1023" is not between 1KB and 25MB$/],
      ['26MB', /not between/],
      ['1GB', /not between/],
      ['10M', /not a size such as 500KB, 10MB or 1GB/],
      ['1.5MB', /not a size/],
      ['-1', /not a size/],
      ['auto', /not a size/],
      ['', /not a size/],
    ],
  },
  'a size without an upper bound': {
    parse: size('0'),
    accepted: [
      ['0', 0],
      ['1TB', 1024 ** 4],
    ],
    refused: [['999999999999TB', /not between/]],
  },
  'a size or auto': {
    parse: sizeOrAuto,
    accepted: [
      ['auto', 'auto'],
      ['0', 0],
      ['1GB', 1024 ** 3],
    ],
    refused: [['Auto', /not a size/]],
  },
  'a web address': {
    parse: httpUrl,
    accepted: [
      ['', ''],
      ['https://mail.example', 'https://mail.example'],
      ['https://mail.example//', 'https://mail.example'],
      ['http://mail.example:8080/box/', 'http://mail.example:8080/box'],
    ],
    refused: [
      ['mail.example', /^"mail.example" is not an http\(s\) URL$/],
      ['ftp://mail.example', /not an? http/],
      ['javascript:alert(1)', /not an? http/],
      ['https://', /not an? http/],
      ['https://mail.example/?a=1', /not an? http/],
      ['https://mail.example/#a', /not an? http/],
      ['https://user:word@mail.example', /^"https:\/\/…@mail.example" is not an http/],
    ],
  },
  'a host name': {
    parse: hostName,
    accepted: [
      ['MX.Mail.Example', 'mx.mail.example'],
      ['localhost', 'localhost'],
    ],
    refused: [
      ['mx mail', /^"mx mail" is not a host name$/],
      ['mx\r\n220 evil', /^"mx\\r\\n220 evil" is not a host name$/],
      ['', /not an? host name/],
    ],
  },
  'mail domains': {
    parse: mailDomains,
    accepted: [
      ['', []],
      ['a.example', ['a.example']],
      [' A.example , b.example,', ['a.example', 'b.example']],
      ['a.example,A.EXAMPLE', ['a.example']],
      ['bücher.example', ['xn--bcher-kva.example']],
      ['*.a.example, *.A.example,*.bücher.example', ['*.a.example', '*.xn--bcher-kva.example']],
    ],
    refused: [
      ['*.example', /^"\*\.example" is not a domain name$/],
      ['*', /not an? domain name/],
      ['*a.example', /not an? domain name/],
      ['*.*.a.example', /not an? domain name/],
      ['a.*.example', /not an? domain name/],
      ['a.example,example', /^"example" is not a domain name$/],
      ['a b.example', /not an? domain name/],
      ['a.example;b.example', /not an? domain name/],
      ['@a.example', /not an? domain name/],
    ],
  },
  'name servers': {
    parse: dnsServers,
    accepted: [
      ['', []],
      ['9.9.9.9, ::1', ['9.9.9.9', '::1']],
      ['127.0.0.1:5353,[::1]:5353', ['127.0.0.1:5353', '[::1]:5353']],
    ],
    refused: [
      ['9.9.9.9,dns.example', /^"dns.example" is not an address such as 9\.9\.9\.9/],
      ['9.9.9.9:0', /is not an address/],
      ['9.9.9.9:65536', /is not an address/],
      ['[9.9.9.9]:53', /is not an address/],
      ['9.9.9:53', /is not an address/],
      ['9.9.9.9/24', /is not an address/],
    ],
  },
  'IP ranges': {
    parse: ipRanges,
    accepted: [
      ['', []],
      ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ],
    refused: [
      ['10.0.0.0/8,proxy', /^"proxy" is not an IP address or CIDR range$/],
      ['10.0.0.0/33', /not an IP address/],
    ],
  },
}

for (const [name, { parse, accepted, refused }] of Object.entries(tables)) {
  describe(name, () => {
    for (const [given, value] of accepted) {
      test(`accepts ${JSON.stringify(given)}`, () => expect(parse(given)).toEqual(value))
    }
    for (const [given, problem] of refused) {
      test(`refuses ${JSON.stringify(given)}`, () => expect(() => parse(given)).toThrow(problem))
    }
  })
}

test('an error shows only the beginning of a long value', () => {
  expect(() => flag('x'.repeat(5000))).toThrow(/^"x{100}…" is not on or off$/)
})
