import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { type Client, expectReply, openClient } from './testing/dialogue.ts'

test('a server survives running out of file descriptors', async () => {
  const program = fileURLToPath(new URL('./testing/standalone-server.ts', import.meta.url))
  const server = spawn('sh', ['-c', 'ulimit -n 60; exec "$0" "$1"', process.execPath, program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const [line] = await once(server.stdout, 'data')
    const port = Number(String(line))
    const clients = Array.from({ length: 200 }, () => openClient(port))
    const outcomes = await Promise.allSettled(clients.map((client) => client.reply()))
    const greeted = outcomes.filter(({ status }) => status === 'fulfilled').length
    expect(greeted > 0 && greeted < 60, `${greeted} were greeted`).toBeTruthy()
    for (const client of clients) client.socket.destroy()
    const next = await greetedClient(port)
    for (const [command, code] of [
      ['EHLO a.test', 250],
      ['MAIL FROM:<>', 250],
      ['RCPT TO:<ann@box.test>', 250],
      ['DATA', 354],
      ['hi\r\n.', 250],
    ] as const) {
      next.send(`${command}\r\n`)
      await expectReply(next, command, code)
    }
    next.socket.destroy()
    expect(server.exitCode).toBe(null)
  } finally {
    server.kill()
  }
})

/** Until the server has closed other connections, it may have no descriptor for this one. */
async function greetedClient(port: number): Promise<Client> {
  let client = openClient(port)
  await waitUntil(async () => {
    const isGreeted = await client.reply().then(
      () => true,
      () => false,
    )
    if (!isGreeted) client = openClient(port)
    return isGreeted
  })
  return client
}
