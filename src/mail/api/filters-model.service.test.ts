import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WITHOUT_POLLING } from '../../../test/kit/app/app.ts'
import { emailsOf } from '../../../test/kit/http/api-client.ts'
import { request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing, type TestKey } from '../../../test/kit/shop/keys.ts'
import { parseHost } from '../../base/address.ts'
import { parseMail } from '../../mime/parse.ts'
import { WAIT_FOREVER } from '../testing/codes.ts'

// Generated mails and questions, answered by the service and by a plain model of lists and a table of case folding.

const MAILS = 60
const QUESTIONS = process.env['MAYFLY_TEST_LONG'] ? 150 : 75

/** From Unicode's CaseFolding.txt, for the characters used here besides ASCII; all others fold to themselves. */
const FOLDED: Record<string, string> = {
  É: 'é',
  İ: 'i\u0307',
  ß: 'ss',
  ẞ: 'ss',
  Σ: 'σ',
  ς: 'σ',
  ﬁ: 'fi',
  '\u212a': 'k',
}
const PIECES = [
  ...Object.keys(FOLDED),
  ...[
    'a',
    'i',
    'ı',
    'ss',
    'é',
    'e\u0301',
    'E\u0301',
    'σ',
    'k',
    'fi',
    'q\u0307\u0323',
    'q\u0323\u0307',
  ],
  ...['中', '文', '👩‍👧', '👍', '👍🏽', '1', '-', '_'],
]
const SENDERS = [
  'ann@shop.test',
  'Ann@SHOP.test',
  'bob@mail.shop.test',
  'eve@notshop.test',
  'eve@straße.test',
]
const PATTERNS = ['shop.test', 'SHOP.TEST', 'ann@shop.test', 'test', 'strasse.test', 'nobody.test']

const words = (maxLength: number) =>
  fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength }).map((pieces) => pieces.join(''))
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 1 })

const mailArbitrary = fc.record({
  from: fc.constantFrom(...SENDERS),
  subject: words(6),
  text: words(10),
  hasCode: fc.boolean(),
  hasLink: fc.boolean(),
})
const questionArbitrary = fc.record({
  from: optional(fc.constantFrom(...PATTERNS)),
  subject: optional(words(2)),
  has_code: optional(fc.constantFrom('0', '1')),
  has_link: optional(fc.constantFrom('0', '1')),
  q: optional(words(2).filter((text) => [...text].length >= 2)),
  limit: optional(fc.integer({ min: 1, max: 20 })),
  since: optional(fc.nat({ max: MAILS - 1 })),
})
type Question = typeof questionArbitrary extends fc.Arbitrary<infer Q> ? Q : never

const NO_CONDITION: Question = {
  from: undefined,
  subject: undefined,
  has_code: undefined,
  has_link: undefined,
  q: undefined,
  limit: undefined,
  since: undefined,
}
const POOLED = 'any@pool.test'
const CODE_TEXT = 'Your verification code is 482913.'
const LINK_TEXT = 'Verify your address: https://shop.test/verify'

type Sent =
  typeof mailArbitrary extends fc.Arbitrary<infer M> ? M & { id: number; to: string } : never

let server: TestServer
let key: TestKey
let session: { email: string; token: string }
/** Newest first. A third is mail to the pool. */
let all: Sent[]

beforeAll(async () => {
  server = await openTestServer({
    parse: async (raw) => parseMail(raw),
    resultWaitMs: WAIT_FOREVER,
    intervals: WITHOUT_POLLING,
  })
  key = await keyRing(server.shop, server.now).issue({ requests: 10_000 })
  const options = { method: 'POST', headers: key.headers }
  const { body } = await request(`${server.url}/api/create-session`, options)
  session = { email: String(body['email']), token: String(body['token']) }
  const name = parseHost('pool.test') ?? expect.fail()
  await server.store.addDomain({ name, sessions: false, reader: true, ttlSeconds: undefined })
  const mails = fc.sample(mailArbitrary, MAILS).map((mail, at) => {
    return { ...mail, to: at % 3 === 0 ? POOLED : session.email }
  })
  for (const { from, subject, text, hasCode, hasLink, to } of mails) {
    const code = hasCode ? `\r\n\r\n${CODE_TEXT}` : ''
    const link = hasLink ? `\r\n\r\n${LINK_TEXT}` : ''
    const head = `From: Sender <${from}>\r\nSubject: ${subject}\r\nContent-Type: text/plain; charset=utf-8`
    await server.mail(to, `${head}\r\n\r\n${text}${code}${link}\r\n`)
  }
  const ids = await readPages({ limit: '500' })
  expect(ids.length).toBe(MAILS)
  all = mails.toReversed().map((mail, at) => ({ ...mail, id: ids[at] ?? 0 }))
})
afterAll(() => server.stop())

/** The ids that check-mail lists. */
async function ask(query: Record<string, string>): Promise<number[]> {
  const parameters = new URLSearchParams({ token: session.token, ...query })
  const { status, text, body } = await request(`${server.url}/api/check-mail?${parameters}`)
  expect(status, text).toBe(200)
  expect('incomplete' in body).toBe(false)
  return (body['messages'] as { id: number }[]).map(({ id }) => id)
}

/** The ids on all pages of /emails, newest first. */
async function readPages(query: Record<string, string>): Promise<number[]> {
  let path = `/emails?${new URLSearchParams(query)}`
  const ids: number[] = []
  while (path !== '') {
    const page = await request(`${server.url}${path}`, { headers: key.headers })
    // A page is grouped by address.
    const found = emailsOf(page).map(({ id }) => id)
    ids.push(...found.toSorted((one, other) => other - one))
    path = /<(.*)>/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
  }
  return ids
}

function fold(text: string): string {
  return [...text.normalize('NFC')]
    .map((char) => FOLDED[char] ?? (/[A-Z]/.test(char) ? char.toLowerCase() : char))
    .join('')
    .normalize('NFC')
}

const contains = (text: string, part: string) => fold(text).includes(fold(part))

function matchesSender(sender: string, pattern: string): boolean {
  const [address, wanted] = [fold(sender), fold(pattern)]
  if (wanted.includes('@')) return address === wanted
  const host = address.split('@')[1] ?? ''
  return `.${host}`.endsWith(`.${wanted}`)
}

/** The ids that the model finds in the mail to this address, or in all, newest first. */
function expectedIds(question: Question, to: string | undefined): number[] {
  const { from, subject, has_code: hasCode, has_link: hasLink, q, limit = 100, since } = question
  const sinceId = since === undefined ? 0 : (all[since]?.id ?? 0)
  return all
    .filter((mail) => mail.id > sinceId && (to === undefined || mail.to === to))
    .filter((mail) => from === undefined || matchesSender(mail.from, from))
    .filter((mail) => subject === undefined || contains(mail.subject, subject))
    .filter((mail) => hasCode !== '1' || mail.hasCode)
    .filter((mail) => hasLink !== '1' || mail.hasLink)
    .filter((mail) => q === undefined || textsOf(mail).some((text) => contains(text, q)))
    .slice(0, limit)
    .map(({ id }) => id)
}

const textsOf = ({ from, subject, text, hasCode, hasLink }: Sent) => [
  'Sender',
  from,
  subject,
  text,
  ...(hasCode ? [CODE_TEXT] : []),
  ...(hasLink ? [LINK_TEXT] : []),
]

function queryOf({ since, limit, ...conditions }: Question): Record<string, string> {
  const given = {
    ...conditions,
    limit,
    since_id: since === undefined ? undefined : all[since]?.id,
  }
  const present = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present.map(([name, value]) => [name, String(value)]))
}

test('check-mail finds what the model finds', async () => {
  let found = 0
  await fc.assert(
    fc.asyncProperty(questionArbitrary, async (question) => {
      const ids = await ask(queryOf(question))
      found += ids.length
      expect(ids).toStrictEqual(expectedIds(question, session.email))
    }),
    { numRuns: QUESTIONS },
  )
  expect(found, `${found} messages were found in all`).toBeGreaterThan(QUESTIONS)
})

test('/emails finds what the model finds in a session, in the pool and in both, page by page', async () => {
  const addresses = [session.email, POOLED, undefined]
  await fc.assert(
    fc.asyncProperty(
      questionArbitrary,
      fc.constantFrom(...addresses),
      async ({ from = 'test', subject, q, limit = 7, since }, to) => {
        const question = { ...NO_CONDITION, from, subject, q, since, limit }
        const ids = await readPages({ ...(to === undefined ? {} : { to }), ...queryOf(question) })
        expect(ids).toStrictEqual(expectedIds({ ...question, limit: MAILS }, to))
      },
    ),
    {
      numRuns: QUESTIONS / 3,
      examples: addresses.map((to) => [NO_CONDITION, to]),
    },
  )
})
