import { expect, test } from 'vitest'
import { dovecotForTests } from './testing/dovecot-account.ts'
import { ANN, type ImapFixture, mailText, openImapFixture, PASSWORD } from './testing/fixture.ts'

const TEN = Array.from({ length: 10 }, (_, at) => `user${at}@mail.test`)
const users = Object.fromEntries([ANN, ...TEN].map((email) => [email, PASSWORD]))
const dovecot = dovecotForTests({ users })
const X = 'ann+x@mail.test'
const MINUTE = 60_000

/** Advances the clock and requests a poll. */
function pass(fixture: ImapFixture, ms: number): void {
  fixture.state.time += ms
  fixture.requestPoll()
}

test('bytes over the daily limit arrive a day later, in order', async () => {
  const fixture = await dovecot.ready([X], { limits: { bytesPerDay: 400_000 } })
  for (const body of ['one', 'two', 'three']) {
    dovecot.server().deliver(ANN, mailText({ To: X }, `${body} ${'x'.repeat(150_000)}`))
  }
  expect(await fixture.untilHealth('slow')).toBe('daily limit of 0 MB reached')
  expect(fixture.mails).toHaveLength(2)
  pass(fixture, 23 * 60 * MINUTE)
  dovecot.server().deliver(ANN, mailText({ To: X }, 'small'))
  pass(fixture, 2 * 60 * MINUTE)
  await fixture.untilMails(4)
  await fixture.untilHealth('ok')
  const bodies = fixture.mails.map(({ raw }) => raw.split('\r\n\r\n')[1]?.split(' ')[0]?.trim())
  expect(bodies).toEqual(['one', 'two', 'three', 'small'])
})

test('ten accounts use one connection each and fetch each mail once', async () => {
  const fixtures = TEN.map((email) => {
    const fixture = openImapFixture([email.replace('@', '+x@')])
    dovecot.open(fixture, { email: email as typeof ANN })
    return { email, fixture }
  })
  await Promise.all(fixtures.map(({ fixture }) => fixture.untilHealth('ok')))
  for (const { email } of fixtures) {
    for (let count = 0; count < 10; count += 1) {
      dovecot.server().deliver(email, mailText({ To: email.replace('@', '+x@') }))
    }
  }
  await Promise.all(fixtures.map(({ fixture }) => fixture.untilMails(10)))
  const logins = dovecot
    .server()
    .log()
    .matchAll(/Login: user=<(user\d@mail\.test)>/g)
  expect(Array.from(logins, ([, email]) => email).sort()).toEqual(TEN)
  expect(fixtures.map(({ fixture }) => fixture.mails.length)).toEqual(TEN.map(() => 10))
})
