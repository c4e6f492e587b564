import { describe, expect, test } from 'vitest'
import { parseOwnDomain, unicodeName } from './names.ts'

const LABEL = 'a'.repeat(63)

describe('a name that a key can have is stored in A-labels', () => {
  for (const [text, name, unicode = name] of [
    ['corp.test', 'corp.test'],
    ['Mail.Corp.TEST', 'mail.corp.test'],
    ['corp.test.', 'corp.test'],
    ['corp.co.uk', 'corp.co.uk'],
    ['ann.github.io', 'ann.github.io'],
    ['bücher.example', 'xn--bcher-kva.example', 'bücher.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', 'bücher.example'],
    ['例え.公司.cn', 'xn--r8jz45g.xn--55qx5d.cn', '例え.公司.cn'],
    [`${LABEL}.${LABEL}.${LABEL}.test`, `${LABEL}.${LABEL}.${LABEL}.test`],
  ] as const) {
    test(text, async () => {
      const parsed = await parseOwnDomain(text)
      expect([parsed, unicodeName(parsed)]).toEqual([name, unicode])
    })
  }
})

describe('other names are invalid', () => {
  for (const [text, why] of [
    ['', 'give a name'],
    ['192.0.2.1', 'IP address'],
    ['[192.0.2.1]', 'IP address'],
    ['2001:db8::1', 'IP address'],
    ['[IPv6:2001:db8::1]', 'IP address'],
    ['*.corp.test', 'wildcard'],
    ['corp', 'one label'],
    ['com', 'one label'],
    ['co.uk', 'public suffix'],
    ['github.io', 'public suffix'],
    ['公司.cn', '公司.cn is a public suffix'],
    ['xn--55qx5d.cn', '公司.cn is a public suffix'],
    [`${LABEL}a.test`, 'at most 63'],
    [`${`${LABEL}.`.repeat(4)}test`, 'at most 245'],
    [`${'ü'.repeat(56)}.${'ü'.repeat(56)}.${'ü'.repeat(56)}.${'ü'.repeat(56)}.test`, 'give a name'],
    ['_dmarc.corp.test', 'give a name'],
    ['corp.test..', 'give a name'],
    ['.', 'give a name'],
    ['corp..test', 'give a name'],
    ['-corp.test', 'give a name'],
    ['https://corp.test/', 'give a name'],
    ['ann@corp.test', 'give a name'],
    ['corp.test\r\nx', 'give a name'],
    ['0x7f.1', 'give a name'],
    ['corp\u0000.test', 'give a name'],
  ] as const) {
    test(JSON.stringify(text.slice(0, 40)), async () => {
      await expect(parseOwnDomain(text)).rejects.toMatchObject({
        code: 'invalid_domain',
        message: expect.stringContaining(why),
      })
    })
  }
})
