import { describe, expect, test } from 'vitest'
import { isSpecialPurpose } from '../base/special-purpose.ts'
import { type AllowedTargets, parseAllowedTarget, parseTarget, targetRefusal } from './target.ts'

const NONE: AllowedTargets = { hosts: [], ranges: [] }
const PUBLIC = '93.184.215.14'

/** As at connect time: a literal address is its own, a name resolves to a public one. */
function refusalOf(text: string, allowed = NONE, resolved = [PUBLIC]): string | undefined {
  const target = parseTarget(text)
  const isLiteral = /^[\d.]+$|:/.test(target.host)
  return targetRefusal(target, isLiteral ? [target.host] : resolved, allowed)
}

describe('a malformed or deceptive URL is invalid', () => {
  for (const url of [
    '',
    'receiver.example',
    '//receiver.example/',
    'https:receiver.example',
    'https:/receiver.example',
    'https://',
    'https:///path',
    'ftp://receiver.example/',
    'file:///etc/passwd',
    'gopher://receiver.example/',
    'data:text/plain,x',
    'javascript:alert(1)',
    'ws://receiver.example/',
    'unix:/var/run/docker.sock',
    'https://user@receiver.example/',
    'https://user:secret@receiver.example/',
    'https://@receiver.example/',
    'https://receiver.example@127.0.0.1/',
    'https://receiver.example\\@127.0.0.1/',
    'https:\\\\127.0.0.1\\',
    'https://receiver.example/a b',
    'https://receiver.example/\u0000',
    ' https://receiver.example/',
    'https://recei\tver.example/',
    'https://receiver.example\r\nHost: x/',
    'https://receiver.example:99999/',
    'https://receiver.example:x/',
    'https://2130706433/',
    'https://017700000001/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://0x7f.0.0.1/',
    'https://127.1/',
    'https://127.0.1/',
    'https://0/',
    'https://127.0.0.1./',
    'https://00000177.0.0.1/',
    'https://3232235777/',
    'https://１２７.0.0.1/',
    'https://①②⑦.0.0.1/',
    'https://127。0。0。1/',
    'https://%31%32%37.0.0.1/',
    'https://localhost./',
    'https://receiver.example./',
    'https://-receiver.example/',
    'https://receiver..example/',
    'https://[::1/',
    'https://[::1%25eth0]/',
    'https://[fe80::1%eth0]/',
    `https://receiver.example/${'x'.repeat(2_000)}`,
  ]) {
    test(JSON.stringify(url.slice(0, 60)), () => {
      expect(() => parseTarget(url)).toThrow(expect.objectContaining({ code: 'invalid_url' }))
    })
  }
})

describe('a target that is not public is refused', () => {
  for (const url of [
    'http://receiver.example/',
    'http://93.184.215.14/',
    'https://receiver.example:22/',
    'https://receiver.example:25/',
    'https://receiver.example:80/',
    'https://receiver.example:6379/',
    'https://receiver.example:8080/',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://intranet/',
    'https://db.localhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://router.home.arpa/',
    'https://something.onion/',
    'https://127.0.0.1/',
    'https://127.0.0.1#@receiver.example/',
    'https://127.0.0.1?@receiver.example/',
    'https://127.255.255.254/',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://100.64.0.1/',
    'https://100.127.255.255/',
    'https://169.254.169.254/latest/meta-data/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.0.0.170/',
    'https://192.0.2.1/',
    'https://192.31.196.1/',
    'https://192.52.193.1/',
    'https://192.88.99.1/',
    'https://192.168.1.1/',
    'https://192.175.48.1/',
    'https://198.18.0.1/',
    'https://198.19.255.255/',
    'https://198.51.100.1/',
    'https://203.0.113.1/',
    'https://224.0.0.1/',
    'https://239.255.255.255/',
    'https://240.0.0.1/',
    'https://255.255.255.255/',
    'https://[::]/',
    'https://[::1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[::127.0.0.1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::FFFF:93.184.215.14]/',
    'https://[::ffff:0:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b::93.184.215.14]/',
    'https://[64:ff9b:1::1]/',
    'https://[100::1]/',
    'https://[2001::1]/',
    'https://[2001:0:7f00:1::]/',
    'https://[2001:2::1]/',
    'https://[2001:20::1]/',
    'https://[2001:db8::1]/',
    'https://[2002:7f00:1::]/',
    'https://[2002:5db8:d70e::1]/',
    'https://[2620:4f:8000::1]/',
    'https://[3fff::1]/',
    'https://[5f00::1]/',
    'https://[fc00::1]/',
    'https://[fd12:3456::1]/',
    'https://[fe80::1]/',
    'https://[fec0::1]/',
    'https://[ff02::1]/',
    'https://[2606:4700::5efe:7f00:1]/',
    'https://[2606:4700::200:5efe:7f00:1]/',
    'https://[4000::1]/',
  ]) {
    test(url, () => expect(refusalOf(url)).toBeTypeOf('string'))
  }

  for (const address of ['127.0.0.1', '10.0.0.8', '169.254.169.254', '::1', 'fd00::1']) {
    test(`a public name that resolves to ${address}, also among others`, () => {
      expect(refusalOf('https://receiver.example/', NONE, [address])).toBeTypeOf('string')
      expect(refusalOf('https://receiver.example/', NONE, [PUBLIC, address])).toBeTypeOf('string')
    })
  }
})

describe('a public target is accepted', () => {
  for (const url of [
    'https://receiver.example/',
    'https://receiver.example:443/mail?key=1',
    'https://receiver.example:8443/',
    'HTTPS://Receiver.Example/',
    'https://xn--bcher-kva.example/',
    'https://bücher.example/',
    'https://93.184.215.14/',
    'https://[2606:4700:4700::1111]/',
  ]) {
    test(url, () => expect(refusalOf(url)).toBe(undefined))
  }
})

describe('the operator may allow', () => {
  const allowed = { hosts: ['receiver.lan'], ranges: ['127.0.0.0/8', 'fd00::/8'] }
  for (const [url, resolved, accepted] of [
    ['http://127.0.0.1:9000/', [], true],
    ['http://[fd00::1]:9000/', [], true],
    ['http://10.0.0.1/', [], false],
    ['http://receiver.lan:9000/', ['10.0.0.1'], true],
    ['http://other.lan/', ['127.0.0.1'], true],
    ['http://other.lan/', ['127.0.0.1', '10.0.0.1'], false],
    ['http://other.lan/', [], false],
  ] as const) {
    test(`${url} at ${resolved}: ${accepted ? 'accepted' : 'refused'}`, () => {
      expect(refusalOf(url, allowed, [...resolved]) === undefined).toBe(accepted)
    })
  }

  for (const [text, expected] of [
    ['127.0.0.1', { ranges: ['127.0.0.1'] }],
    ['10.0.0.0/8', { ranges: ['10.0.0.0/8'] }],
    ['Receiver.LAN', { hosts: ['receiver.lan'] }],
    ['10.0.0.0/33', undefined],
    ['300.1.1.1', undefined],
    ['http://receiver.lan', undefined],
    ['a b', undefined],
  ] as const) {
    test(`${text} as a setting`, () => expect(parseAllowedTarget(text)).toEqual(expected))
  }
})

test('what is not an address is not public', () => {
  expect(isSpecialPurpose('receiver.example')).toBe(true)
})
