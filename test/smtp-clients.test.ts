import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { checkMail, rawMail } from './kit/http/api-client.ts'
import { program } from './kit/programs/programs.ts'

// Third-party SMTP clients with their usual behavior.

const run = promisify(execFile)
let app: App
beforeAll(async () => {
  app = await startApp({ env: { MAYFLY_SMTP_THREADS: '2' } })
})
afterAll(() => app.stop())

test('swaks delivers with ESMTP, with SMTP and with pipelining', async () => {
  const box = await app.session()
  const server = ['--server', `127.0.0.1:${app.smtpPort}`, '--to', box.email]
  const mail = (name: string) => ['--header', `Subject: ${name}`, '--body', `.dots\n..and ${name}`]
  for (const [name, options] of [
    ['plain', []],
    ['helo only', ['--protocol', 'SMTP']],
    ['pipelined', ['--pipeline']],
  ] as const) {
    await run(program('swaks'), [...server, ...mail(name), ...options])
  }
  const messages = await checkMail(app.url, box.token)
  const subjects = messages.map((message) => message.subject)
  expect(subjects).toStrictEqual(['pipelined', 'helo only', 'plain'])
  const [first] = messages
  const raw = await rawMail(app.url, box.token, first?.id ?? 0)
  expect(raw.toString()).toMatch(/\r\n\.dots\r\n\.\.and pipelined\r\n/)
})

test('smtp-source delivers every mail, with a new connection for each and with reused ones', async () => {
  for (const options of [[], ['-d']]) {
    const box = await app.session()
    const load = ['-s', '10', '-m', '100', '-l', '4096', '-f', 'a@sender.test', '-t', box.email]
    await run(program('smtp-source'), [...options, ...load, `127.0.0.1:${app.smtpPort}`])
    const ids = (await checkMail(app.url, box.token, '&limit=500')).map((message) => message.id)
    expect(new Set(ids).size).toBe(100)
  }
})

test('nodemailer delivers a large mail to two recipients, with opportunistic TLS', async () => {
  const boxes = [await app.session(), await app.session()]
  const content = Buffer.alloc(2_000_000, 'abcdefgh')
  const options = { host: '127.0.0.1', port: app.smtpPort, tls: { rejectUnauthorized: false } }
  await createTransport(options).sendMail({
    from: 'Zoë <zoe@sender.test>',
    to: boxes.map((box) => box.email),
    subject: 'Größe',
    text: 'see attachment',
    attachments: [{ filename: 'größe.bin', content }],
  })
  for (const { token } of boxes) {
    const [message] = await checkMail(app.url, token)
    expect(message?.subject).toBe('Größe')
    const whole = await fetch(`${app.url}/api/raw-mail?token=${token}&id=${message?.id}`)
    expect(await whole.text()).toMatch(/^Received: [\s\S]*?with ESMTPS/m)
    const file = `${app.url}/api/attachment?token=${token}&id=${message?.id}&index=0`
    const bytes = Buffer.from(await (await fetch(file)).arrayBuffer())
    expect(bytes.equals(content)).toBeTruthy()
  }
})
