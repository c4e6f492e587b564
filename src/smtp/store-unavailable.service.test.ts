import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Fixture, openFixture, START } from '../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../test/kit/store/postgres.ts'
import { MAIL_OPTIONS, openPostgresTestMail } from '../../test/kit/store/postgres-stores.ts'
import { makeWaiterCounts, openMemoryBus } from '../bus/memory.ts'
import { acceptRecipient, receiveMail } from '../mail/receive-mail.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { dialogue, expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

let postgres: Postgres
let fixture: Fixture
let server: SmtpServer
const { deps, seen } = recordingDeps()

beforeAll(async () => {
  postgres = await openPostgres()
  fixture = await openFixture(await openPostgresTestMail(postgres))
  const { store } = fixture
  const bus = openMemoryBus('store-unavailable', makeWaiterCounts())
  const findMailBlock = () => undefined
  const parts = {
    store,
    ownHosts: [],
    bus,
    limits: MAIL_OPTIONS.limits,
    now: () => START,
    findMailBlock,
    countOwnRefused() {},
  }
  const context = {
    ...deps,
    acceptRecipient: (text: string, offer: Parameters<typeof acceptRecipient>[2]) =>
      acceptRecipient(parts, text, offer),
    receiveMail: (mail: Parameters<typeof receiveMail>[1]) => receiveMail(parts, mail),
    storageFault: store.storageFault,
  }
  server = await openSmtpServer(context, { port: 0, hostname: 'mx.box.test' })
})
beforeEach(() => {
  seen.lines.splice(0)
})
afterAll(async () => {
  await server.close()
  await fixture.close()
  await postgres.close()
})

const OPENING = ['EHLO a.test', 'MAIL FROM:<>', 'RCPT TO:<ann@box.test>', 'DATA']

test('mail is deferred with 451 at every step during an outage, which is logged once', async () => {
  const { id } = await fixture.session('ann@box.test')
  const [afterMail, afterData] = [openClient(server.port), openClient(server.port)]
  afterMail.send(OPENING.slice(0, 2).join('\r\n').concat('\r\n'))
  afterData.send(OPENING.join('\r\n').concat('\r\n'))
  for (const code of [220, 250, 250]) await expectReply(afterMail, 'the opening', code)
  for (const code of [220, 250, 250, 250, 354]) await expectReply(afterData, 'the opening', code)

  await postgres.stop('SIGQUIT')
  afterData.send('Subject: lost?\r\n\r\nx\r\n.\r\n')
  await expectReply(afterData, 'the final dot', '451 4.3.0')
  afterMail.send('RCPT TO:<ann@box.test>\r\n')
  await expectReply(afterMail, 'RCPT', '451 4.3.0')
  afterMail.send('DATA\r\n')
  await expectReply(afterMail, 'DATA', '554')
  await untilMailReply(/^451 4\.3\.0 /)
  const logged = seen.lines.filter(({ level }) => level !== 'debug')
  expect(
    logged.map(({ level, message }) => [level, /store is unavailable/.test(message)]),
  ).toStrictEqual([['warn', true]])

  await postgres.start()
  await untilMailReply(/^250 /)
  await dialogue(server.port, [
    ...OPENING.map((line, at) => [line, at === 3 ? 354 : 250] as const),
    ['Subject: kept\r\n\r\nx\r\n.', 250],
  ])
  expect(await fixture.subjects(id)).toStrictEqual(['kept'])
  for (const client of [afterMail, afterData]) client.socket.destroy()
})

/** Repeats MAIL until it gets this reply: the state of the store is cached for half a second. */
async function untilMailReply(wanted: RegExp): Promise<void> {
  const client = openClient(server.port)
  client.send('EHLO a.test\r\n')
  for (const code of [220, 250]) await expectReply(client, 'EHLO', code)
  const until = performance.now() + 60_000
  for (let reply = ''; !wanted.test(reply); ) {
    expect(performance.now(), `no ${wanted} within 60 s: ${reply}`).toBeLessThan(until)
    await new Promise((resolve) => setTimeout(resolve, 20))
    client.send('RSET\r\nMAIL FROM:<>\r\n')
    await expectReply(client, 'RSET', 250)
    reply = await client.reply()
  }
  client.socket.destroy()
}
