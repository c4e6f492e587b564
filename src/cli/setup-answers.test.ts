import { describe, expect, test } from 'vitest'
import { proposeHost } from './setup-answers.ts'

describe('the proposed host name', () => {
  for (const [domain, hostname, reverseNames, proposal] of [
    ['box.example.org', 'mx1.example.org', [], 'mx1.example.org'],
    ['box.example.org', 'vps7', ['mail.example.org'], 'mail.example.org'],
    ['box.example.org', 'localhost.localdomain', [], 'mx.box.example.org'],
    ['box.example.org', 'ip-10-0-0-5.ec2.internal', ['vps7.host.net'], 'mx.box.example.org'],
    ['box.co.uk', 'vps7.provider.co.uk', ['vps7.provider.co.uk'], 'mx.box.co.uk'],
    ['example.org', 'nas.local', ['mail.example.org'], 'mail.example.org'],
  ] as const) {
    test(`for ${domain} on ${[hostname, ...reverseNames].join()}: ${proposal}`, () => {
      const found = { hostname, reverseNames, isHostnameGiven: false }
      const machine = { ...found, domains: [], namesInFile: [] }
      expect(proposeHost(machine, [domain])).toBe(proposal)
    })
  }

  for (const [hostname, reverseNames, proposal] of [
    ['vps7.provider.net', ['mail.b.test'], 'vps7.provider.net'],
    ['mx.example.org', ['mail.b.test'], 'mail.b.test'],
    ['vps7', [], 'mx.a.test'],
    ['nas.local', ['vps7.provider.net'], 'mx.a.test'],
  ] as const) {
    test(`of an installation on ${[hostname, ...reverseNames].join()}: ${proposal}`, () => {
      const found = { hostname, reverseNames, isHostnameGiven: false }
      const machine = { ...found, domains: ['a.test'], namesInFile: ['MAYFLY_DOMAINS'] }
      expect(proposeHost(machine, ['a.test', 'b.test'])).toBe(proposal)
    })
  }
})
