import { describe, expect, test } from 'vitest'
import { proposeHost } from './answers.ts'

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
      const found = {
        hostname,
        reverseNames: [...reverseNames],
        isHostnameGiven: false,
        isInUse: false,
      }
      const machine = { ...found, domains: [], namesInFile: [] }
      expect(proposeHost(machine, [domain])).toBe(proposal)
    })
  }

  for (const [hostname, reverseNames, proposal, isHostnameGiven] of [
    ['vps7.provider.net', ['mail.b.test'], 'vps7.provider.net', false],
    ['mx.example.org', ['mail.b.test'], 'mail.b.test', false],
    ['vps7', [], 'mx.a.test', false],
    ['nas.local', ['vps7.provider.net'], 'mx.a.test', false],
    ['nas.local', ['vps7.provider.net'], 'nas.local', true],
    ['vps7', ['mail.b.test'], 'mail.b.test', true],
  ] as const) {
    const how = isHostnameGiven ? 'set to' : 'on'
    test(`of an installation ${how} ${[hostname, ...reverseNames].join()}: ${proposal}`, () => {
      const found = { hostname, reverseNames: [...reverseNames], isHostnameGiven, isInUse: false }
      const machine = { ...found, domains: ['a.test'], namesInFile: ['MAYFLY_DOMAINS'] }
      expect(proposeHost(machine, ['a.test', 'b.test'])).toBe(proposal)
    })
  }
})
