import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { APP_PASSWORD, type GmailApp, startGmailApp } from './kit/gmail/gmail-app.ts'
import {
  ENCODINGS,
  post,
  problemFault,
  request,
  type TestResponse,
} from './kit/http/http-client.ts'
import { openKeyRing } from './kit/shop/keys.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'

// How the API behaves with Gmail accounts. Who may read the mail: gmail-privacy.test.ts.

const JOEY = 'joey@gmail.com'
const ANN = 'ann.miller@gmail.com'
const INACTIVE_IN_FILE = 'filed.off@gmail.com'
const SWITCHED_OFF = 'switched.off@gmail.com'

let app: GmailApp
let joey: string
let ann: string
beforeAll(async () => {
  app = await startGmailApp([
    { email: JOEY, dots: true },
    { email: ANN, masked: true },
    { email: INACTIVE_IN_FILE, active: false },
    { email: SWITCHED_OFF },
  ])
  await app.deactivate(SWITCHED_OFF)
  joey = String(await app.idOf(JOEY))
  ann = String(await app.idOf(ANN))
})
afterAll(() => app.stop())
beforeEach(async () => {
  await app.setHealth(JOEY, 'ok')
  await app.setHealth(ANN, 'ok')
})

const create = (params: Record<string, string>) => post(`${app.url}/api/create-session`, params)
const emailOf = ({ status, body }: TestResponse): string => {
  expect(status, JSON.stringify(body)).toBe(200)
  return String(body['email'])
}
const isOf = (email: string, account: string) =>
  email.replace(/\+.*@/, '@').replaceAll('.', '') === account.replaceAll('.', '')
const fewest = async () => {
  const [one, other] = [await app.account(JOEY), await app.account(ANN)]
  return one.aliases <= other.aliases ? JOEY : ANN
}
const refused = (response: TestResponse) => {
  expect(problemFault(response)).toBeUndefined()
  return [response.status, response.body['code']]
}

describe('/api/domains', () => {
  test('lists the active accounts with their ids, masked if the file says so', async () => {
    const { body } = await request(`${app.url}/api/domains`)
    expect(body['gmail_accounts']).toStrictEqual([
      { id: Number(joey), email: JOEY },
      { id: Number(ann), email: 'an…r@gmail.com' },
    ])
  })

  test('lists an active account whose login fails', async () => {
    await app.setHealth(JOEY, 'failing', 'the server does not accept the login')
    const { body, text } = await request(`${app.url}/api/domains`)
    expect((body['gmail_accounts'] as unknown[]).length).toBe(2)
    expect(text).not.toMatch(/login/)
  })
})

describe('Gmail mode', () => {
  for (const params of [
    {},
    { use_gmail: '0' },
    { gmail_auto: '0' },
    { use_gmail: 'false', gmail_auto: 'false' },
    { use_gmail: '0', gmail_id: '1' },
    { prefix: '' },
  ] as Record<string, string>[]) {
    test(`${JSON.stringify(params)} does not select it: the address is at a mail domain`, async () => {
      for (let draw = 0; draw < 10; draw += 1) {
        expect(emailOf(await create(params))).toMatch(/@(box|pool)\.test$/)
      }
    })
  }

  for (const params of [
    { use_gmail: '1' },
    { gmail_auto: '1' },
    { gmail_auto: 'true', use_gmail: '0' },
    { use_gmail: '1', domain_id: '1' },
    { gmail_auto: '1', domain_id: '2' },
  ] as Record<string, string>[]) {
    test(`${JSON.stringify(params)} selects it, in every encoding, whatever mail domain is named`, async () => {
      for (const encoding of ENCODINGS) {
        const response = await post(`${app.url}/api/create-session`, params, encoding)
        expect(emailOf(response), encoding).toMatch(/@gmail\.com$/)
      }
    })
  }

  test('outside Gmail mode the id of an account is an unknown domain', async () => {
    expect(refused(await create({ domain_id: joey }))).toStrictEqual([400, 'unknown_domain'])
  })
})

describe('the choice of the account', () => {
  for (const [name, params] of [
    ['gmail_auto selects the account with the fewest live aliases', { gmail_auto: '1' }],
    ['use_gmail alone does the same', { use_gmail: '1' }],
    [
      'gmail_auto takes precedence over gmail_id, even an unknown one',
      { gmail_auto: '1', gmail_id: '99' },
    ],
    ['a domain_id of no account is treated as gmail_auto', { use_gmail: '1', domain_id: '1' }],
  ] as [string, Record<string, string>][]) {
    test(name, async () => {
      for (let draw = 0; draw < 6; draw += 1) {
        const expected = await fewest()
        const email = emailOf(await create(params))
        expect(isOf(email, expected), `${email} is not of ${expected}`).toBeTruthy()
      }
    })
  }

  test('gmail_id selects it and takes precedence over domain_id; domain_id alone selects it too', async () => {
    for (const [id, other, account] of [
      [joey, ann, JOEY],
      [ann, joey, ANN],
    ] as const) {
      expect(isOf(emailOf(await create({ use_gmail: '1', gmail_id: id })), account)).toBeTruthy()
      const both = { use_gmail: '1', gmail_id: id, domain_id: other }
      expect(isOf(emailOf(await create(both)), account)).toBeTruthy()
      expect(isOf(emailOf(await create({ use_gmail: '1', domain_id: id })), account)).toBeTruthy()
    }
  })

  test('a gmail_id that is unknown or of an inactive account is rejected with 400', async () => {
    for (const id of [
      '99',
      '0',
      '1',
      await app.idOf(INACTIVE_IN_FILE),
      await app.idOf(SWITCHED_OFF),
    ]) {
      const response = await create({ use_gmail: '1', gmail_id: String(id) })
      expect(refused(response)).toStrictEqual([400, 'unknown_gmail_account'])
      expect(String(response.body['message'])).toMatch(/^gmail_id: /)
    }
  })

  test('a domain_id of an inactive account is treated as gmail_auto', async () => {
    for (const email of [INACTIVE_IN_FILE, SWITCHED_OFF]) {
      const id = String(await app.idOf(email))
      const given = emailOf(await create({ use_gmail: '1', domain_id: id }))
      expect(isOf(given, JOEY) || isOf(given, ANN)).toBeTruthy()
    }
  })

  test('a slow account counts as healthy; a failing one is skipped, and rejected if named', async () => {
    await app.setHealth(JOEY, 'failing', 'locked')
    await app.setHealth(ANN, 'slow', 'daily limit of 2000 MB reached')
    for (let draw = 0; draw < 5; draw += 1) {
      expect(isOf(emailOf(await create({ gmail_auto: '1' })), ANN)).toBeTruthy()
    }
    for (const params of [{ gmail_id: joey }, { domain_id: joey }]) {
      const response = await create({ use_gmail: '1', ...params })
      expect(refused(response)).toStrictEqual([503, 'gmail_unavailable'])
      expect(response.text).not.toMatch(/locked/)
    }
  })

  test('without a healthy account the response is 503 with Retry-After', async () => {
    for (const [health, seconds] of [
      ['failing', '60'],
      ['starting', '5'],
    ] as const) {
      await app.setHealth(JOEY, health)
      await app.setHealth(ANN, 'failing')
      for (const params of [{ gmail_auto: '1' }, { use_gmail: '1', prefix: 'x' }]) {
        const response = await create(params as Record<string, string>)
        expect(refused(response)).toStrictEqual([503, 'gmail_unavailable'])
        expect(response.headers.get('retry-after')).toBe(seconds)
      }
    }
    expect(emailOf(await create({})), 'mail domains go on').toMatch(/\.test$/)
  })
})

describe('the choice of the alias', () => {
  test('prefix is the plus tag, in lower case', async () => {
    const params = { use_gmail: '1', gmail_id: ann, prefix: 'My-Shop.1' }
    expect(emailOf(await create(params))).toBe('ann.miller+my-shop.1@gmail.com')
  })

  for (const [name, prefix, code] of [
    ['consecutive dots', 'a..b', 'invalid_prefix'],
    ['a plus', 'a+b', 'invalid_prefix'],
    ['a reserved name', 'postmaster', 'reserved_prefix'],
    ['too many characters for the account', 'x'.repeat(60), 'invalid_prefix'],
  ] as const) {
    test(`a prefix with ${name} is rejected`, async () => {
      const response = await create({ use_gmail: '1', gmail_id: joey, prefix })
      expect(refused(response)).toStrictEqual([400, code])
      expect(String(response.body['message'])).toMatch(/^prefix: /)
    })
  }

  test('of 100 concurrent requests for one tag on all threads one succeeds, the others get 409', async () => {
    const params = { use_gmail: '1', gmail_id: joey, prefix: 'race' }
    const all = await Promise.all(Array.from({ length: 100 }, () => create(params)))
    expect(all.filter(({ status }) => status === 200).length).toBe(1)
    for (const response of all.filter(({ status }) => status !== 200)) {
      expect(refused(response)).toStrictEqual([409, 'address_taken'])
    }
  })

  test('without a prefix each dot form is used once, if the account has any, then random tags', async () => {
    const given: string[] = []
    for (let draw = 0; draw < 30; draw += 1) {
      given.push(emailOf(await create({ use_gmail: '1', gmail_id: joey })))
    }
    expect(new Set(given).size).toBe(30)
    const tags = given.filter((email) => email.includes('+'))
    expect(tags.length, 'joey has seven dot forms').toBeGreaterThanOrEqual(30 - 7)
    for (const tag of tags) expect(tag).toMatch(/^joey\+[a-z]+\.[a-z]+\d{3}@gmail\.com$/)
    expect(given).not.toContain(JOEY)
    // Tags are generated only after all dot forms are in use.
    const dots = given.slice(0, given.length - tags.length)
    expect(dots.every((email) => !email.includes('+'))).toBeTruthy()
    const plain = emailOf(await create({ use_gmail: '1', gmail_id: ann }))
    expect(plain, 'this account has no dot forms').toMatch(/^ann\.miller\+/)
  })
})

describe('the session of an alias', () => {
  test('has the default lifetime or the requested one', async () => {
    for (const [params, seconds] of [
      [{}, 86_400],
      [{ ttl: '90' }, 90],
    ] as const) {
      const before = app.now().getTime()
      const { body } = await create({ gmail_auto: '1', ...params })
      const createdAt = Date.parse(String(body['expires_at_iso'])) - seconds * 1_000
      // Whole seconds.
      expect(createdAt).toBeGreaterThan(before - 1_000)
      expect(createdAt).toBeLessThan(app.now().getTime() + 1_000)
    }
    const long = await create({ gmail_auto: '1', ttl: '604801' })
    expect(refused(long)).toStrictEqual([400, 'invalid_parameter'])
  })

  test('can be created with a key, which is not charged; an invalid key is rejected', async () => {
    const ring = await openKeyRing(app)
    const key = await ring.issue()
    const { token } = await app.session({ gmail_auto: '1' }, key.headers)
    expect((await request(`${app.url}/api/check-mail?token=${token}`)).status).toBe(200)
    expect(await ring.used(key)).toBe(0)
    await ring.close()
    const headers = { apikey: 'mf_live_wrong' }
    const wrong = await request(`${app.url}/api/create-session?gmail_auto=1`, {
      method: 'POST',
      headers,
    })
    expect(refused(wrong)).toStrictEqual([401, 'invalid_key'])
  })

  test('expires, cools down, and can be revived only by its owner while the account is active', async () => {
    const options = { use_gmail: '1', gmail_id: ann, prefix: 'comes-back' }
    const { token, email } = await app.session(options)
    const extend = () => post(`${app.url}/api/extend-session`, { token })
    expect((await extend()).status).toBe(200)
    app.moveClock(86_401)
    expect(refused(await create(options))).toStrictEqual([409, 'address_taken'])
    expect(emailOf(await extend())).toBe(email)
    await post(`${app.url}/api/delete-session`, { token })
    expect(refused(await create(options))).toStrictEqual([409, 'address_taken'])
    expect(refused(await extend())).toStrictEqual([401, 'invalid_token'])
    app.moveClock(31 * 86_400)
    expect(emailOf(await create(options))).toBe(email)
  })
})

describe('over SMTP', () => {
  test('mail to an alias or its account is rejected as relaying', async () => {
    const { email } = await app.session({ use_gmail: '1', gmail_id: ann, prefix: 'by-smtp' })
    const client = await connectSmtp(app.smtpPort)
    for (const line of ['EHLO a.test', 'MAIL FROM:<a@a.test>']) await client.command(line)
    for (const to of [email, ANN, JOEY]) {
      expect((await client.command(`RCPT TO:<${to}>`)).text).toMatch(/^550 5\.7\.1 /)
    }
    client.close()
  })
})

test('no response contains credentials', async () => {
  for (const path of ['api/domains', 'readyz', 'metrics', 'openapi.json', 'docs']) {
    const { text, headers } = await request(`${app.url}/${path}`)
    expect(text + JSON.stringify([...headers])).not.toMatch(new RegExp(APP_PASSWORD))
  }
})
