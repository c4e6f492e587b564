import { describe, expect, test } from 'vitest'
import type { Lookup } from '../rules/result.ts'
import type { CheckContext, DnsProbe } from './context.ts'
import { dnsChecks } from './dns-checks.ts'
import { openFacts } from './facts.ts'

const MACHINE = '203.0.113.7'
const none = { records: [] }
const late = { error: 'ETIMEOUT' }
const unused = () => Promise.reject(new Error('not needed'))

/** Names with their addresses, of the machine and of a server that sends. */
const ADDRESSES: Record<string, string> = {
  'mx.example.org': MACHINE,
  'out.example.org': '198.51.100.9',
}

/** Sends receipts through this server. */
function contextOf(server: string, dns: Partial<DnsProbe>): CheckContext {
  const a = async (name: string): Promise<Lookup<string>> =>
    ADDRESSES[name] === undefined ? none : { records: [ADDRESSES[name]] }
  return {
    settings: {
      host: '::',
      adminToken: '',
      rateLimits: true,
      http: { port: 8080, baseUrl: '', trustProxy: [], mtaSts: 'off' },
      smtp: { port: 25, hostname: 'mx.example.org' },
      payments: { provider: 'manual' },
      gmailAccounts: [],
      mailOut: { url: `smtp://${server}:587`, from: 'Shop <shop@box.example.org>' },
      store: 'sqlite:',
      redis: '',
    },
    domains: ['box.example.org'],
    exampleDomains: [],
    newDomains: [],
    now: () => new Date(),
    uniqueId: () => '',
    dns: {
      a,
      aaaa: async () => none,
      cname: async () => none,
      txt: async () => none,
      ptr: async () => none,
      tlsa: async () => none,
      mx: async () => ({ records: [{ exchange: 'mx.example.org', priority: 10 }] }),
      ...dns,
    },
    connectSmtp: unused,
    httpGet: unused,
    publicPorts: { smtp: 25, https: 443 },
    ownAddresses: [MACHINE],
    isPrivateIp: () => false,
    settingsReport: undefined,
    dataDirectory: unused,
    clockSynchronized: unused,
    store: undefined,
    storeFault: undefined,
    backup: unused,
    postgres: unused,
    redis: unused,
    testAccount: unused,
    stripe: unused,
  }
}

describe('SPF of the domain that sends receipts', () => {
  const OTHER = 'out.example.org'
  const all = async () => ({ records: [MACHINE] })
  const nullMx = async () => ({ records: [{ exchange: '', priority: 0 }] })
  for (const [name, server, terms, dns, status] of [
    ['mx has the address of this machine', '127.0.0.1', 'mx', {}, 'ok'],
    ['mx does not have the address of another server', OTHER, 'mx', {}, 'warning'],
    ['mx is unknown', OTHER, 'mx', { mx: async () => late }, 'ok'],
    ['a null MX has no address', OTHER, 'mx', { mx: nullMx, a: all }, 'warning'],
    ['a has the address of another server', OTHER, 'a', { a: all }, 'ok'],
    ['a does not have it', OTHER, 'a', {}, 'warning'],
    ['a range does not have it', OTHER, `ip4:${MACHINE}`, {}, 'warning'],
    ['its A record is unknown', OTHER, `ip4:${MACHINE}`, { a: async () => late }, 'ok'],
    ['its AAAA record is unknown', OTHER, `ip4:${MACHINE}`, { aaaa: async () => late }, 'ok'],
    ['a range has its address', '198.51.100.9', 'ip4:198.51.100.0/24', {}, 'ok'],
  ] as const) {
    test(`${name}: ${status}`, async () => {
      const txt = async () => ({ records: [`v=spf1 ${terms} -all`] })
      const context = contextOf(server, { txt, ...dns })
      const checks = dnsChecks(context, openFacts(context))
      const spf = checks.find((check) => check.name === 'spf')
      expect((await spf?.run(new AbortController().signal))?.status).toBe(status)
    })
  }
})
