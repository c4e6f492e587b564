import assert from 'node:assert/strict'
import { afterAll, beforeAll, test } from 'vitest'
import { openSmtp, type SmtpServer } from './server.ts'
import { dialogue } from './testing/dialogue.ts'
import { recorder } from './testing/recorder.ts'

const { needs, seen } = recorder()
let server: SmtpServer

beforeAll(async () => {
  server = await openSmtp(needs, { port: 0, hostname: 'mx.box.test' })
})
afterAll(() => server.close())

test('a mail for somebody here is taken, one for nobody is not', async () => {
  await dialogue(server.port, [
    ['EHLO sender.test', 250],
    ['MAIL FROM:<a@sender.test>', 250],
    ['RCPT TO:<nobody@box.test>', '550 5.1.1'],
    ['RCPT TO:<Ann@box.test>', 250],
    ['DATA', 354],
    ['Subject: hi\r\n\r\nhello\r\n.', 250],
    ['QUIT', 221],
  ])
  const [mail] = seen.mails
  assert.ok(mail)
  assert.equal(Buffer.from(mail.raw).toString(), 'Subject: hi\r\n\r\nhello\r\n')
  assert.deepEqual(mail.recipients, ['ann@box.test'])
  assert.deepEqual(mail.envelope, {
    clientIp: '127.0.0.1',
    helo: 'sender.test',
    mailFrom: 'a@sender.test',
    tls: undefined,
    protocol: 'ESMTP',
  })
})
