import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'
import { OPENING, splitAt, stuffed } from './testing/transcript.ts'

const { deps, seen } = recordingDeps()
let folder = ''
let server: SmtpServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-smtp-'))
  server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', folder })
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const receivedMails = () =>
  seen.mails.splice(0).map(({ raw }) => Buffer.from(raw).toString('latin1'))

for (const secure of [false, true]) {
  test(`mail from nodemailer is stored byte for byte${secure ? ' over TLS' : ''}`, async () => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: server.port,
      ignoreTLS: !secure,
      requireTLS: secure,
      pool: true,
      tls: { rejectUnauthorized: false },
    })
    const lines = '.\r\n..\r\n.dot\r\nend\r\n'
    const sizes = [0, 10, 1_000, 100_000, 1_000_000]
    const bodies = sizes.map((size) => `Subject: n\r\n\r\n${'z'.repeat(size)}\r\n${lines}`)
    for (const raw of bodies) {
      await transport.sendMail({ envelope: { from: 'a@a.test', to: 'ann@box.test' }, raw })
    }
    transport.close()
    const protocols = seen.mails.map(({ envelope }) => envelope.protocol)
    expect(protocols.every((protocol) => protocol === (secure ? 'ESMTPS' : 'ESMTP'))).toBeTruthy()
    expect(receivedMails().every((raw, at) => raw === bodies[at])).toBeTruthy()
    expect(protocols.length).toBe(bodies.length)
  })
}

test('a session sent in two packets, split anywhere, is the same session', async () => {
  const body = 'Subject: hi\r\n\r\n.a\r\n..\r\n'
  const bytes = Buffer.from(`${OPENING}${stuffed(body)}QUIT\r\n`)
  await Promise.all(
    Array.from(bytes, async (_, at) => {
      const client = openClient(server.port)
      const pieces = splitAt(bytes, [at])
      await client.reply()
      for (const piece of pieces) {
        client.send(piece)
        await new Promise((sent) => setImmediate(sent))
      }
      expect(await client.rest()).toMatch(/354 [^\r]*\r\n250 [^\r]*\r\n221 [^\r]*\r\n$/)
    }),
  )
  expect(receivedMails()).toStrictEqual(Array(bytes.length).fill(body))
})
