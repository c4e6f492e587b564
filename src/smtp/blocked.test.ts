import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { SmtpDeps } from './options.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { dialogue, expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const open: SmtpServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function openServer(overrides: Partial<SmtpDeps>) {
  const { deps, seen } = recordingDeps(overrides)
  const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test' })
  open.push(server)
  return { port: server.port, seen }
}

describe('of what the operator blocks,', () => {
  test('a client gets 554 as the greeting, then 503 until QUIT', async () => {
    const { port, seen } = await openServer({ isBlocked: ({ ip }) => ip === '127.0.0.1' })
    const client = openClient(port)
    await expectReply(client, 'the greeting', '554 5.7.1')
    for (const [command, reply] of [
      ['EHLO sender.test', '503 5.7.1'],
      ['MAIL FROM:<a@sender.test>', '503 5.7.1'],
      ['NOOP', '503 5.7.1'],
      ['XYZ', '503 5.7.1'],
      ['QUIT', 221],
    ] as const) {
      client.send(`${command}\r\n`)
      await expectReply(client, command, reply)
    }
    expect(await client.rest()).toBe('')
    const browser = openClient(port)
    await expectReply(browser, 'the greeting', 554)
    browser.send('GET / HTTP/1.1\r\n')
    expect(await browser.rest()).toMatch(/^500 5\.5\.2 [^\r]*\r\n$/)
    // Both count as connections of their address.
    await waitUntil(() => seen.heldIps.length === 2 && seen.held === 0)
  })

  test('a sender, or a client blocked meanwhile, gets 550 at MAIL', async () => {
    const blocked = new Set(['bad@sender.test'])
    const { port, seen } = await openServer({
      isBlocked: ({ ip, sender = '' }) => blocked.has(ip) || blocked.has(sender),
    })
    const client = openClient(port)
    const send = async (command: string, reply: number | string) => {
      client.send(`${command}\r\n`)
      await expectReply(client, command, reply)
    }
    await client.reply()
    await send('EHLO sender.test', 250)
    await send('MAIL FROM:<bad@sender.test>', '550 5.7.1')
    await send('RCPT TO:<ann@box.test>', 503)
    await send('MAIL FROM:<>', 250)
    await send('RSET', 250)
    blocked.add('127.0.0.1')
    await send('MAIL FROM:<good@sender.test>', '550 5.7.1')
    client.socket.destroy()
    expect(seen.mails.length).toBe(0)
  })

  test('a mail gets 550 after DATA', async () => {
    const { port } = await openServer({ receiveMail: async () => ({ outcome: 'blocked' }) })
    await dialogue(port, [
      ['EHLO sender.test', 250],
      ['MAIL FROM:<a@sender.test>', 250],
      ['RCPT TO:<ann@box.test>', 250],
      ['DATA', 354],
      ['From: bad@sender.test\r\n\r\nhello\r\n.', '550 5.7.1'],
    ])
  })
})
