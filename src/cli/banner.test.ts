import { describe, expect, test } from 'vitest'
import { banner, localEndpoints, startWarnings } from './banner.ts'

describe('local endpoints', () => {
  for (const [host, name] of [
    ['::', 'localhost'],
    ['0.0.0.0', 'localhost'],
    ['', 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '[::1]'],
    ['mail.example', 'mail.example'],
  ] as const) {
    test(`${name} when listening on ${host || 'no particular address'}`, () => {
      expect(localEndpoints({ host, httpPort: 8080, smtpPort: 2525 })).toEqual({
        url: `http://${name}:8080`,
        smtpHost: name,
        smtpPort: 2525,
      })
    })
  }
})

describe('warnings at start', () => {
  const connections = { wanted: 10_000, allowed: 10_000 }
  const certificate = { enforcesTls: false, isSelfSigned: true }
  const open = { host: '::', baseUrl: '', adminToken: '', connections, ...certificate }
  const names = (facts: Partial<typeof open>) =>
    startWarnings({ ...open, ...facts }).map((line) => /MAYFLY_[A-Z_]+/.exec(line)?.[0])
  const LONG = 'a'.repeat(20)
  const [URL, TOKEN] = ['MAYFLY_BASE_URL', 'MAYFLY_ADMIN_TOKEN']

  for (const [name, facts, settings] of [
    ['with default settings: two', {}, [URL, TOKEN]],
    ['on one address: two', { host: '192.0.2.1' }, [URL, TOKEN]],
    ['with a base URL: not about HTTP', { baseUrl: 'https://mail.example' }, [TOKEN]],
    ['with an admin token: not about metrics', { adminToken: LONG }, [URL]],
    ['with a short admin token', { adminToken: LONG.slice(1) }, [URL, TOKEN]],
    [
      'too few open files for the configured connections',
      { connections: { wanted: 10_000, allowed: 160 } },
      [URL, TOKEN, 'MAYFLY_HTTP_CONNECTIONS'],
    ],
    [
      'MTA-STS enforced with a self-signed certificate',
      { enforcesTls: true },
      [URL, TOKEN, 'MAYFLY_ACME'],
    ],
    ['MTA-STS enforced', { enforcesTls: true, isSelfSigned: false }, [URL, TOKEN]],
    ['with both: none', { baseUrl: 'https://x.example', adminToken: LONG }, []],
    ['on loopback: none', { host: '127.0.0.1' }, []],
    ['on ::1: none', { host: '::1', connections: { wanted: 10_000, allowed: 160 } }, []],
    [
      'on loopback behind a proxy, with a short admin token',
      { host: '127.0.0.1', baseUrl: 'https://mail.example', adminToken: LONG.slice(1) },
      [TOKEN],
    ],
    ['on loopback with a short admin token: none', { host: '::1', adminToken: 'a' }, []],
    ['on localhost: none', { host: 'localhost' }, []],
  ] as const) {
    test(name, () => expect(names(facts)).toEqual(settings))
  }

  test('name certificates by the service itself as a way to HTTPS and STARTTLS', () => {
    const lines = startWarnings({ ...open, enforcesTls: true })
    const about = lines.filter((line) => line.includes('MAYFLY_ACME=on'))
    expect(about.map((line) => /plain HTTP|self-signed/.exec(line)?.[0])).toEqual([
      'plain HTTP',
      'self-signed',
    ])
  })

  test('are one line each', () => {
    for (const line of startWarnings(open)) expect(line).not.toContain('\n')
  })

  test('do not contain the token', () => {
    const [line, ...others] = startWarnings({ ...open, baseUrl: 'https://x', adminToken: 'scrape' })
    expect([line?.includes('scrape'), others]).toEqual([false, []])
  })
})

describe('banner', () => {
  const endpoints = localEndpoints({ host: '::', httpPort: 8081, smtpPort: 2526 })
  const facts = {
    endpoints,
    baseUrl: '',
    domains: ['a.test'],
    dataLocation: './data',
    shop: false,
    isTestShop: false,
    command: 'mayfly',
  }

  test('shows the URLs of API and docs, the SMTP port and the data directory', () => {
    const text = banner(facts).join('\n')
    for (const part of [
      'http://localhost:8081/api',
      'http://localhost:8081/docs',
      'localhost:2526',
      './data',
      'a.test',
    ]) {
      expect(text).toContain(part)
    }
  })

  test('has fewer than 20 lines', () => expect(banner(facts).length).toBeLessThan(20))

  test('shows the public URL, but the sample commands use the local one', () => {
    const text = banner({ ...facts, baseUrl: 'https://mail.example' }).join('\n')
    expect(text).toContain('https://mail.example/api')
    expect(text).toContain('curl -s -X POST http://localhost:8081/api/create-session')
  })

  test('shows the shop, and whether it is a test shop', () => {
    expect(banner(facts).join('\n')).not.toContain('pricing')
    const shop = (isTestShop: boolean) => banner({ ...facts, shop: true, isTestShop }).join('\n')
    expect(shop(false)).toMatch(/Shop {5}http:\/\/localhost:8081\/pricing$/m)
    expect(shop(true)).toMatch(/pricing {4}test shop: no real payments$/m)
  })

  test('lists three domains and counts the rest', () => {
    const domains = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test']
    expect(banner({ ...facts, domains }).join('\n')).toContain('a.test, b.test, c.test and 2 more')
    expect(banner({ ...facts, domains: [] }).join('\n')).toContain('mayfly domain add')
  })
})
