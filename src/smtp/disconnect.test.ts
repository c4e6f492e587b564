import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { ReceiveResult } from './options.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 20 : 1
const CONCURRENT = 50
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

const STEPS = [
  '',
  'EH',
  'LO a.test\r\n',
  'MAIL FROM:<>\r\n',
  'RCPT TO:<ann@box.test>\r\n',
  'DATA\r\n',
  'Subject: half\r\n',
  `\r\n${'x'.repeat(100_000)}\r\n`,
  '.',
  '\r',
]
const openFiles = () => readdirSync('/dev/fd').length

for (const [step] of STEPS.entries()) {
  const input = STEPS.slice(0, step + 1).join('')
  for (const [way, leave] of [
    ['closes', 'end'],
    ['resets', 'resetAndDestroy'],
  ] as const) {
    test(`a client that ${way} after ${JSON.stringify(input.slice(-20))} leaks nothing`, async () => {
      const files = openFiles()
      for (let round = 0; round < ROUNDS; round += 1) {
        await Promise.all(Array.from({ length: CONCURRENT }, () => visit(input, leave)))
        await waitUntil(() => seen.held === 0 && seen.reserved === 0)
      }
      await waitUntil(() => openFiles() <= files)
      expect(seen.mails.length).toBe(0)
    })
  }
}

async function visit(input: string, leave: 'end' | 'resetAndDestroy'): Promise<void> {
  const client = openClient(server.port)
  await client.reply()
  client.send(input)
  await waitUntil(() => client.socket.writableLength === 0)
  client.socket[leave]()
  await client.rest()
}

test('a client that disconnects during the TLS handshake leaks nothing', async () => {
  const client = openClient(server.port)
  client.send('EHLO a.test\r\n')
  await client.reply()
  await client.reply()
  client.send('STARTTLS\r\n')
  await client.reply()
  client.send(Buffer.from('1603010200010001fc0303', 'hex'))
  client.socket.destroy()
  await waitUntil(() => seen.held === 0)
})

test('mail of a client that disconnects before our 250 may be stored; later commands are not run', async () => {
  const disk = Promise.withResolvers<ReceiveResult>()
  const slow = recordingDeps({ receiveMail: () => disk.promise })
  const other = await openSmtpServer(slow.deps, { port: 0, hostname: 'mx.box.test' })
  const client = openClient(other.port)
  client.send('EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\nx\r\n.\r\n')
  client.send('MAIL FROM:<>\r\nRCPT TO:<bob@box.test>\r\nDATA\r\ny\r\n.\r\n')
  await waitUntil(() => slow.seen.reserved > 0)
  client.socket.resetAndDestroy()
  await waitUntil(() => slow.seen.held === 0)
  disk.resolve({ outcome: 'stored', recipients: [] })
  await waitUntil(() => slow.seen.reserved === 0)
  expect(slow.seen.asked.map(({ text }) => text)).toStrictEqual(['ann@box.test'])
  await other.close()
})
