import { describe, expect, test } from 'vitest'
import { banner, whereabouts } from './serve.ts'

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
