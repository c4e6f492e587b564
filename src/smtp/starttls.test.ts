import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { selfSigned } from '../tls/x509.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { dialogue, expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'
import { oneChunk, transcript } from './testing/transcript.ts'

const { deps, seen } = recordingDeps()
let folder = ''
let server: SmtpServer
let now = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-smtp-'))
  const times = { checkMs: 5, handshakeMs: 30_000 }
  server = await openSmtpServer(deps, {
    port: 0,
    hostname: 'mx.box.test',
    folder,
    timeouts: times,
    clock: () => now,
  })
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

/** A client that has sent EHLO and STARTTLS, with optional plain text after it. */
async function atHandshake(injected = '') {
  const client = openClient(server.port)
  await expectReply(client, 'the greeting', 220)
  client.send('EHLO before.test\r\n')
  expect(await client.reply()).toMatch(/^250-STARTTLS\r$/m)
  client.send(`STARTTLS\r\n${injected}`)
  return client
}

test('mail over TLS is stored with the TLS version and cipher', async () => {
  const client = await atHandshake()
  await expectReply(client, 'STARTTLS', 220)
  const socket = await client.secure()
  expect(socket.getPeerX509Certificate()?.checkHost('mx.box.test')).toBe('mx.box.test')
  for (const [command, expected] of [
    ['EHLO after.test', 250],
    ['MAIL FROM:<a@a.test>', 250],
    ['RCPT TO:<ann@box.test>', 250],
    ['DATA', 354],
    ['hi\r\n.', 250],
    ['QUIT', 221],
  ] as const) {
    client.send(`${command}\r\n`)
    await expectReply(client, command, expected)
  }
  expect(await client.rest()).toBe('')
  const envelope = seen.mails[0]?.envelope
  expect(envelope?.tls ?? '').toMatch(/^TLSv1\.3 TLS_/)
  expect(envelope?.protocol).toBe('ESMTPS')
  expect(envelope?.helo).toBe('after.test')
  await waitUntil(() => seen.held === 0)
})

test('state from before the handshake is discarded', async () => {
  const client = await atHandshake()
  await expectReply(client, 'STARTTLS', 220)
  await client.secure()
  client.send('MAIL FROM:<a@a.test>\r\n')
  await expectReply(client, 'MAIL', '503 5.5.1')
  client.send('EHLO after.test\r\n')
  expect(await client.reply()).not.toMatch(/STARTTLS/)
  client.send('STARTTLS\r\n')
  await expectReply(client, 'STARTTLS twice', '503 5.5.1')
  client.socket.destroy()
})

describe('plain text injected after STARTTLS', () => {
  for (const injected of ['NOOP\r\n', 'NOOP ', 'MAIL FROM:<x@y.test>\r\n', '\r\n']) {
    test(`${JSON.stringify(injected)} is not executed, and the connection is closed`, async () => {
      const client = await atHandshake(injected)
      expect(await client.rest()).toMatch(/^(503 5\.5\.1 [^\r]*|220 [^\r]*)\r\n$/)
    })
  }

  test('in the same packet is rejected', () => {
    const session = transcript(
      oneChunk(Buffer.from('EHLO a.test\r\nSTARTTLS\r\nMAIL FROM:<x@y>\r\n')),
    )
    expect(session.codes).toStrictEqual([250, 503])
    expect(session.closed).toBe('behind_starttls')
  })

  test('instead of a handshake closes the connection', async () => {
    const client = await atHandshake()
    await expectReply(client, 'STARTTLS', 220)
    client.send('EHLO plain.test\r\nMAIL FROM:<x@y.test>\r\n')
    expect(await client.rest()).not.toMatch(/^250/m)
    await waitUntil(() => seen.held === 0)
  })
})

test('a client that never starts the handshake is disconnected', async () => {
  const client = await atHandshake()
  await expectReply(client, 'STARTTLS', 220)
  now += 30_001
  expect(await client.rest()).toBe('')
  await waitUntil(() => seen.held === 0)
})

test("the operator's certificate is reloaded when its file changes", async () => {
  const file = join(folder, 'operator.pem')
  const names: string[] = []
  const write = (name: string) => writeFile(file, selfSigned({ ...request, hostname: name }))
  const request = { now: new Date('2026-05-01T12:00:00Z'), serial: Buffer.from('01', 'hex') }
  await write('a.operator.test')
  const options = { port: 0, hostname: 'mx.box.test', tlsCert: file, tlsKey: file, folder }
  const withOwnCertificate = await openSmtpServer(recordingDeps().deps, options)
  for (const name of ['a.operator.test', 'longer.operator.test']) {
    await write(name)
    const client = openClient(withOwnCertificate.port)
    client.send('STARTTLS\r\n')
    await expectReply(client, 'the greeting', 220)
    await expectReply(client, 'STARTTLS', 220)
    const socket = await client.secure()
    names.push(socket.getPeerX509Certificate()?.subject ?? '')
    socket.destroy()
  }
  await withOwnCertificate.close()
  expect(names).toStrictEqual(['CN=a.operator.test', 'CN=longer.operator.test'])
})

test('without a certificate STARTTLS is not offered', async () => {
  const plain = await openSmtpServer(recordingDeps().deps, { port: 0, hostname: 'mx.box.test' })
  await dialogue(plain.port, [
    ['EHLO a.test', '250-mx.box.test\r\n250-PIPELINING\r\n250-SIZE 10485760\r\n250-8BITMIME\r\n'],
    ['STARTTLS', '502 5.5.1'],
  ])
  await plain.close()
})
