import { hash, X509Certificate } from 'node:crypto'
import { chmodSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Installation } from '../src/doctor/checks.ts'
import { openDnsProbe } from '../src/doctor/probes/dns.ts'
import { reverseName, tlsaRecord } from '../src/doctor/rules/dns-records.ts'
import type { FinishedCheck } from '../src/doctor/rules/result.ts'
import {
  expectOnly,
  HOST,
  LOST_STORE,
  startCheckedApp,
  withServer,
  wrong,
} from './kit/app/checked-app.ts'
import { INSTALLATION_FAULTS, installationFaults } from './kit/app/installation-faults.ts'
import {
  BROKEN,
  DOMAIN_FAULTS,
  FAULTY,
  FAULTY_POLICIES,
  HOST_FAULTS,
  RIGHT,
  WILD,
  zone,
} from './kit/dns/faulty-zones.ts'
import { openSilentServers } from './kit/dns/knot.ts'
import { certificateFor, trustCertificates } from './kit/http/https-proxy.ts'
import { freePort } from './kit/programs/server-process.ts'

// One service, one name server, one proxy. Each fault of a domain has a domain of its own, so that one run finds all of them;
// faults of the host and of the installation are planted one after the other.

let fixture: Awaited<ReturnType<typeof startCheckedApp>>
let settings: Installation['settings']
beforeAll(async () => {
  const policies = [RIGHT, ...FAULTY].filter((domain) => domain !== 'no-policy.test')
  fixture = await startCheckedApp({
    domains: [RIGHT, BROKEN, WILD, ...FAULTY.filter((name) => name !== 'unknown.test')],
    policies: {
      ...Object.fromEntries(
        policies.map((name) => [`mta-sts.${name}`, name === 'old-sts.test' ? 'old.test' : HOST]),
      ),
      ...FAULTY_POLICIES,
    },
    records: zone(),
    broken: BROKEN,
  })
  settings = fixture.settings
})
afterAll(() => fixture.stop())

const check: typeof fixture.check = (changed, options) => fixture.check(changed, options)
const LISTINGS = { listings: true }

test('with right zones nothing is wrong; the test mail is removed, also if its reply is lost', async () => {
  const results = await check({}, LISTINGS)
  expect(wrong(results)).toEqual([])
  const skipped = results.filter(({ status }) => status === 'skipped').map(({ name }) => name)
  expect(skipped).toEqual([
    'relays',
    'acme',
    'tlsa',
    'mail-out',
    'postgres',
    'redis',
    'own-domains',
    'gmail',
  ])
  expect(results.find(({ name }) => name === 'delivery')?.seen).toContain('arrived')
  expectOnly(await check({ connectSmtp: fixture.replying(/^Subject:/m, 'no reply') }), [
    'failure',
    'delivery',
    'readyz',
  ])
  expect(await fixture.operatorMails()).toEqual([])
})

test('a wildcard domain needs MX and SPF records, and mail to a subdomain arrives', async () => {
  const results = await check({ domains: [WILD] })
  expect(wrong(results)).toEqual([])
  const ofWildcard = results.filter(({ subject }) => subject === WILD)
  expect(ofWildcard.map(({ name, status }) => [name, status])).toEqual([
    ['delivery', 'ok'],
    ['mx', 'ok'],
    ['spf', 'ok'],
  ])
  expect(await fixture.operatorMails()).toEqual([])
  const bare = await check({ domains: ['*.bare.test'] })
  expect(wrong(bare).map(({ name, fix }) => [name, fix.split('\n')[0]])).toEqual([
    ['mx', '*.bare.test. 3600 IN MX 10 mx.test.'],
    ['spf', '*.bare.test. 3600 IN TXT "v=spf1 -all"'],
  ])
})

test('a test mail that was left behind is removed by a later run, and no other mail is', async () => {
  const deliver = (changed = {}) => fixture.checkOnly('delivery', changed)
  // As if the check had been stopped before the mail was stored.
  await deliver({ store: LOST_STORE })
  const [left] = await fixture.operatorMails()
  expect(left?.subject).toMatch(/^Mayfly check [\w-]{36}$/)
  for (const other of [`X-Spam: no\r\n${left?.raw}`, `${left?.raw}PS: help!\r\n`]) {
    expect(await fixture.app.mail(`postmaster@${RIGHT}`, other)).toBe(250)
  }
  await deliver()
  expect(await fixture.operatorMails()).toHaveLength(3)
  // Another run could still be waiting for a mail of the last ten minutes.
  await deliver({ now: () => new Date(Date.now() + 601_000) })
  const rest = await fixture.operatorMails()
  expect(rest.map(({ raw }) => raw)).toEqual([
    expect.stringContaining('PS: help!'),
    expect.stringContaining('X-Spam: no'),
  ])
  await fixture.emptyOperatorMailbox()
})

describe('a fault of a domain', () => {
  let results: FinishedCheck[] = []
  const resultsOf = (domain: string) => results.filter(({ subject }) => subject === domain)
  beforeAll(async () => {
    results = await check({ domains: [RIGHT, BROKEN, ...FAULTY] }, LISTINGS)
  })

  for (const { domain, status, check: name, fix } of DOMAIN_FAULTS) {
    test(`${domain}: only ${name} reports it`, () =>
      expectOnly(resultsOf(domain), [status, name, fix.replaceAll('DOMAIN', domain)]))
  }

  test('SERVFAIL: only mx reports it', () =>
    expectOnly(resultsOf(BROKEN), ['failure', 'mx', `dig +trace ${BROKEN}`]))

  test('none of them is reported elsewhere', () =>
    expect(wrong([...results.filter(({ subject }) => !subject), ...resultsOf(RIGHT)])).toEqual([]))

  test('the printed records, once published, satisfy every check', async () => {
    const fixes = wrong(results).flatMap(({ subject: domain = '', name, fix }) => {
      const [record] = /\S+\. 3600 IN .+/.exec(fix) ?? []
      const isInstead = !fix.startsWith('Replace the CNAME') && !fix.startsWith('In the zone of')
      const place = isInstead ? name : 'beside'
      return record === undefined || /CNAME/.test(fix)
        ? []
        : [[domain, { [place]: record }] as const]
    })
    expect(fixes.length).toBe(25)
    await fixture.dns.change(zone({}, Object.fromEntries(fixes)))
    expect(wrong(await check({ domains: fixes.map(([domain]) => domain) }))).toEqual([])
    await fixture.dns.change(zone())
  })
})

describe('a fault of the host', () => {
  test('a TLSA record of the certificate is right; other keys, usages and unsigned zones are reported', async () => {
    const pem = fixture.certificate.slice(fixture.certificate.indexOf('-----BEGIN CERT'))
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' })
    const right = tlsaRecord(HOST, hash('sha256', key))
    await fixture.dns.change(zone({ tlsa: right }))
    expectOnly(await check(), ['warning', 'tlsa', 'Sign the zone of mx.test with DNSSEC'])
    const checkSigned = () =>
      check({ dns: { ...fixture.context.dns, isTlsaSigned: async () => true } })
    const results = await checkSigned()
    expect(wrong(results)).toEqual([])
    expect(results.find(({ name }) => name === 'tlsa')?.status).toBe('ok')
    await fixture.dns.change(zone({ tlsa: tlsaRecord(HOST, '00'.repeat(32)) }))
    expectOnly(await checkSigned(), ['failure', 'tlsa', right])
    await fixture.dns.change(zone({ tlsa: right.replace('3 1 1', '1 1 1') }))
    expectOnly(await checkSigned(), ['warning', 'tlsa', `Replace it: ${right}`])
  })

  for (const [name = '', record = '', instead = '', ...expected] of HOST_FAULTS) {
    test(`${name}: only ${expected[1]} reports it`, async () => {
      await fixture.dns.change(zone({ [record]: instead }))
      expectOnly(await check({}, LISTINGS), expected)
      await fixture.dns.change(zone())
    })
  }

  test('an IPv6 address with a closed port: only smtp-public reports it', async () => {
    const reverse = `${reverseName('::1')}. 60 IN PTR mx.test.`
    const six = `mx.test. 60 IN A 127.0.0.1 & mx.test. 60 IN AAAA ::1 & ${reverse}`
    await fixture.dns.change(zone({ address: six }))
    const results = await check({ ownAddresses: ['127.0.0.1', '::1'], isPrivateIp: () => false })
    await fixture.dns.change(zone())
    expectOnly(results, ['warning', 'smtp-public', 'Set MAYFLY_HOST=::'])
  })

  const RENEW = 'certbot renew --cert-name mx.test'
  const years = (count: number) => new Date(Date.now() + count * 365.25 * 86_400_000)
  for (const [name, pem, status, fix] of [
    ['expired', certificateFor(HOST, years(-11)), 'failure', RENEW],
    ['expires soon', certificateFor(HOST, years(-9.98)), 'warning', RENEW],
    ['of another name', certificateFor('old.test'), 'failure', 'certonly --standalone -d mx.test'],
    ['not valid yet', certificateFor(HOST, years(1)), 'failure', 'Check the clock'],
    // The policy of the domain is enforced.
    ['not trusted', certificateFor(HOST), 'failure', 'TLS_CERT=/etc/mayfly/smtp-cert.pem'],
  ] as const) {
    test(`a certificate that is ${name}: only certificate reports it`, async () => {
      const stopTrusting = trustCertificates(
        name === 'not trusted' ? [] : [pem],
        fixture.certificate,
      )
      const results = await fixture.withCertificate(pem, () => check()).finally(stopTrusting)
      expectOnly(results, [status, 'certificate', fix])
    })
  }
})

describe('a fault of the mail port', () => {
  const checkPort = (smtp: number) =>
    check({ publicPorts: { ...fixture.context.publicPorts, smtp } })

  test('a closed port: only smtp-public reports it', async () =>
    expectOnly(await checkPort(await freePort()), ['warning', 'smtp-public', 'open port']))

  test('another mail server: only smtp-public reports it', async () => {
    const other = createTcpServer((socket) =>
      socket.on('error', () => {}).write('220 other.test\r\n'),
    )
    const results = await withServer(other, checkPort)
    expectOnly(results, ['failure', 'smtp-public', `redirect to :${fixture.app.smtpPort}`])
    const elsewhere = { ownAddresses: ['127.0.0.7'], publicPorts: fixture.context.publicPorts }
    const [moved] = await withServer(other, (smtp) =>
      fixture.checkOnly('smtp-public', {
        ...elsewhere,
        publicPorts: { ...elsewhere.publicPorts, smtp },
      }),
    )
    expect(moved?.fix).toContain(
      'correct the address of mx.test in DNS\nmx.test. 3600 IN A 127.0.0.7',
    )
  })

  test('a block of this machine: only smtp reports it', () =>
    fixture.whileBlocked('127.0.0.0/8', async () =>
      expectOnly(await check(), ['failure', 'smtp', 'mayfly block list']),
    ))

  test('an open relay in front: only relay reports it', async () => {
    const relay = fixture.frontEnd((chunk, answer) => {
      if (!chunk.includes('relay-check.invalid')) return chunk
      answer('250 2.1.5 OK\r\n')
      return ''
    })
    expectOnly(await withServer(relay, checkPort), ['failure', 'relay', 'relay_domains'])
  })

  test('a firewall that removes STARTTLS: only certificate reports it', async () => {
    const filter = fixture.frontEnd((chunk) => chunk.replace('STARTTLS', 'XXXXXXXX'))
    const results = await withServer(filter, checkPort)
    expectOnly(results, ['failure', 'certificate', 'must not remove STARTTLS'])
  })

  test('another installation that answers: only delivery reports it', async () => {
    expectOnly(await check({ store: LOST_STORE }), [
      'failure',
      'delivery',
      'Another installation answers at',
    ])
    await fixture.emptyOperatorMailbox()
  })

  test('a relay test without an answer is not ok', async () => {
    const connectSmtp = fixture.replying(/relay-check/, 'connection closed')
    const results = await check({ connectSmtp })
    expect(results.find(({ name }) => name === 'relay')).toMatchObject({ status: 'skipped' })
  })

  test('a service that does not run: only smtp reports it', async () => {
    const smtp = { ...settings.smtp, port: await freePort() }
    const http = { ...settings.http, port: await freePort() }
    const results = await check({ settings: { ...settings, smtp, http } })
    expectOnly(results, ['failure', 'smtp', 'systemctl start mayfly'])
  })

  test('no answer from DNS, refused or dropped: address and mx report it', async () => {
    const silent = await openSilentServers(2)
    for (const servers of [[`127.0.0.1:${await freePort()}`], silent.servers]) {
      const dns = openDnsProbe(servers, { lookupMs: 2_500 })
      const mailOut = { url: 'smtp://out.right.test:587', from: 'shop@a.b.right.test' }
      const results = await check(
        { dns, domains: ['a.b.right.test'], settings: { ...settings, mailOut } },
        // Longer in proportion than the 15 s for lookups of 5 s in production: a machine may stall for seconds.
        { timeoutMs: 15_000 },
      )
      expect(wrong(results).map(({ name }) => name)).toEqual(['address', 'mx'])
      expect(wrong(results)[0]?.fix).toContain('MAYFLY_DNS')
    }
    silent.close()
  })
})

describe('a fault of the installation', () => {
  const set = (changed: Partial<Installation['settings']>) => ({
    settings: { ...settings, ...changed },
  })
  const http = (changed: Partial<Installation['settings']['http']>) =>
    set({ http: { ...settings.http, ...changed } })

  for (const [name = '', ...expected] of INSTALLATION_FAULTS) {
    test(`${name}: only ${expected[1]} reports it`, async () =>
      expectOnly(await check(installationFaults(fixture)[name]), expected))
  }

  test('a Stripe account without our webhook: only payments reports it', async () => {
    const list = JSON.stringify({ object: 'list', data: [], has_more: false })
    const api = createServer((_request, response) => response.end(list))
    const results = await withServer(api, (port) => {
      const secrets = { secretKey: 'sk_live_1', webhookSecrets: ['whsec_1'] }
      const stripe = { ...secrets, apiUrl: `http://127.0.0.1:${port}` }
      return check(set({ payments: { provider: 'stripe', stripe } }))
    })
    expectOnly(results, ['failure', 'payments', `${settings.http.baseUrl}/api/stripe/webhook`])
  })

  test('a data directory that others can read: only data reports it', async () => {
    chmodSync(fixture.app.folder, 0o755)
    const results = await check()
    chmodSync(fixture.app.folder, 0o700)
    expectOnly(results, ['warning', 'data', `chmod 700 ${fixture.app.folder}`])
  })

  test('keys that were never backed up: only backup reports it, until they are', async () => {
    rmSync(join(fixture.app.folder, 'last-backup'))
    expectOnly(await check(), ['warning', 'backup', 'mayfly backup'])
    fixture.backUp()
    expect(wrong(await check())).toEqual([])
  })

  const elsewhere = createServer((_request, response) => response.end('{}'))
  for (const [name, options, ...expected] of [
    ['that hides its clients', { forwards: false }, 'failure', 'proxy', 'X-Forwarded-For'],
    ['at another address', { from: '127.0.0.8' }, 'failure', 'proxy', 'MAYFLY_TRUST_PROXY'],
    ['with another time', { aheadMs: 600_000 }, 'failure', 'clock', 'timedatectl set-ntp true'],
    ['of another service', 'elsewhere', 'failure', 'base-url', 'forward web.test to the HTTP port'],
  ] as const) {
    test(`a proxy ${name}: only ${expected[1]} reports it`, async () => {
      const results = await withServer(elsewhere, async (port) => {
        const other = await fixture.openProxy(options === 'elsewhere' ? { port } : options)
        const found = await check(http({ baseUrl: `https://web.test:${other.port}` }))
        await other.close()
        return found
      })
      expectOnly(results, expected)
    })
  }
})
