import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseAddress } from '../core/address.ts'
import { openLocalSmtp } from './local-smtp.ts'

let greeting: string | undefined
const server = createServer((socket) => {
  socket.on('error', () => {})
  if (greeting === undefined) socket.destroy()
  else socket.write(greeting)
})
beforeEach(async () => {
  greeting = '220 mx.test ready\r\n'
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => server.close())

function send(onGreeting: () => Promise<void>) {
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const to = parseAddress('ann@box.test')
  if (!to) throw new Error('a good address')
  const mail = { from: 'postmaster@box.test', to, raw: '\r\n' }
  return openLocalSmtp({ host: '127.0.0.1', port, proxyFrom: [] })(mail, onGreeting)
}

const OVERLOADED = expect.objectContaining({ code: 'overloaded' })

describe('test mail', () => {
  test('cannot be sent while the SMTP server closes connections', async () => {
    greeting = undefined
    await expect(send(async () => {})).rejects.toEqual(OVERLOADED)
  })

  test('is refused with the reply of a server that does not greet', async () => {
    greeting = '421 4.3.2 Service shutting down, try again later\r\n'
    expect(await send(async () => {})).toEqual({ code: 421, status: '4.3.2' })
  })

  test('fails with the error of a bug, not as if the server were unavailable', async () => {
    const bug = new TypeError('a bug')
    await expect(send(() => Promise.reject(bug))).rejects.toBe(bug)
  })
})
