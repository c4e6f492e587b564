import { describe, expect, test } from 'vitest'
import { banner, startWarnings, whereabouts } from './serve.ts'

describe('a program on the same machine connects to', () => {
  for (const [host, name] of [
    ['::', 'localhost'],
    ['0.0.0.0', 'localhost'],
    ['', 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '[::1]'],
    ['mail.example', 'mail.example'],
  ] as const) {
    test(`${name} when we listen on ${host || 'nothing in particular'}`, () => {
      expect(whereabouts({ host, httpPort: 8080, smtpPort: 2525 })).toEqual({
        url: `http://${name}:8080`,
        smtpHost: name,
        smtpPort: 2525,
      })
    })
  }
})

describe('warnings at the start', () => {
  const connections = { wanted: 10_000, allowed: 10_000 }
  const open = { host: '::', baseUrl: '', hasAdminToken: false, connections }
  const names = (facts: Partial<typeof open>) =>
    startWarnings({ ...open, ...facts }).map((line) => /MAYFLY_[A-Z_]+/.exec(line)?.[0])
  const [URL, TOKEN] = ['MAYFLY_BASE_URL', 'MAYFLY_ADMIN_TOKEN']

  for (const [name, facts, settings] of [
    ['as it comes: two', {}, [URL, TOKEN]],
    ['on one address of the network as well', { host: '192.0.2.1' }, [URL, TOKEN]],
    ['where a base URL is set, not about that', { baseUrl: 'https://mail.example' }, [TOKEN]],
    ['where an admin token is set, not about that', { hasAdminToken: true }, [URL]],
    [
      'too few open files for the connections that were asked for',
      { connections: { wanted: 10_000, allowed: 160 } },
      [URL, TOKEN, 'MAYFLY_HTTP_CONNECTIONS'],
    ],
    [
      'a public service that is set up: none',
      { baseUrl: 'https://x.example', hasAdminToken: true },
      [],
    ],
    ['on loopback: none', { host: '127.0.0.1' }, []],
    ['on ::1: none', { host: '::1', connections: { wanted: 10_000, allowed: 160 } }, []],
    ['on localhost: none', { host: 'localhost' }, []],
  ] as const) {
    test(name, () => expect(names(facts)).toEqual(settings))
  }

  test('take one line each', () => {
    for (const line of startWarnings(open)) expect(line).not.toContain('\n')
  })
})

describe('the first thing a person reads', () => {
  const here = whereabouts({ host: '::', httpPort: 8081, smtpPort: 2526 })
  const facts = { here, baseUrl: '', domains: ['a.test'], kept: './data', payments: 'manual' }

  test('says where the API, the documents, the SMTP port and the kept mail are', () => {
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

  test('fits on half a screen', () => expect(banner(facts).length).toBeLessThan(20))

  test('shows the address from outside where it is known, and pastes to the one here', () => {
    const text = banner({ ...facts, baseUrl: 'https://mail.example' }).join('\n')
    expect(text).toContain('https://mail.example/api')
    expect(text).toContain('curl -s -X POST http://localhost:8081/api/create-session')
  })

  test('leads to the shop where there is one, and says when it is only a test', () => {
    expect(banner(facts).join('\n')).not.toContain('pricing')
    const shop = (payments: string) => banner({ ...facts, payments }).join('\n')
    expect(shop('stripe')).toMatch(/Shop {5}http:\/\/localhost:8081\/pricing$/m)
    expect(shop('fake')).toMatch(/pricing {4}a test shop: no money moves$/m)
  })

  test('names three domains and counts the rest', () => {
    const domains = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test']
    expect(banner({ ...facts, domains }).join('\n')).toContain('a.test, b.test, c.test and 2 more')
    expect(banner({ ...facts, domains: [] }).join('\n')).toContain('mayfly domain add')
  })
})
