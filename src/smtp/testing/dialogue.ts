import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

/** A client that writes what it is told and reads one reply after the other. */
export interface Client {
  socket: Socket
  send(bytes: string | Uint8Array): void
  /** The next reply, all its lines; rejects when the connection ends before one came. */
  reply(): Promise<string>
  /** Everything still to come until the server closes. */
  rest(): Promise<string>
  /** Speaks TLS from here on. */
  secure(): Promise<TLSSocket>
}

export function openClient(port: number, host = '127.0.0.1'): Client {
  let reader = replyReader(connect({ port, host, noDelay: true }))
  return {
    get socket() {
      return reader.socket
    },
    send: (bytes) => void reader.socket.write(bytes),
    reply: () => reader.reply(),
    rest: () => reader.rest(),
    async secure() {
      reader.socket.removeAllListeners('data')
      const socket = connectTls({ socket: reader.socket, rejectUnauthorized: false })
      reader = replyReader(socket)
      await new Promise<void>((resolve, reject) => {
        socket.once('secureConnect', resolve).once('error', reject)
      })
      return socket
    },
  }
}

const REPLY = /^(?:\d{3}-[^\n]*\n)*\d{3}(?: [^\n]*)?\n/

function replyReader(socket: Socket) {
  let text = ''
  let ended = false
  let wake = () => {}
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    wake()
  })
  const end = () => {
    ended = true
    wake()
  }
  socket.on('end', end).on('close', end).on('error', end)
  const change = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  return {
    socket,
    async reply(): Promise<string> {
      for (;;) {
        const found = REPLY.exec(text)?.[0]
        if (found !== undefined) {
          text = text.slice(found.length)
          return found
        }
        assert.ok(!ended, `the connection ended where a reply was due: "${text}"`)
        await change()
      }
    },
    async rest(): Promise<string> {
      while (!ended) await change()
      socket.destroy()
      return text
    },
  }
}

/** What we say, and what we must hear: a code, or the start of the reply. */
type Lines = readonly (readonly [say: string, hear: number | string])[]

/** Greets, says each line and checks each answer, then leaves. */
export async function dialogue(port: number, lines: Lines): Promise<void> {
  const client = openClient(port)
  try {
    await expectReply(client, 'the greeting', 220)
    for (const [say, expected] of lines) {
      client.send(`${say}\r\n`)
      await expectReply(client, say, expected)
    }
  } finally {
    client.socket.destroy()
  }
}

export async function expectReply(
  client: Client,
  said: string,
  expected: number | string,
): Promise<void> {
  const reply = await client.reply()
  assert.ok(reply.startsWith(String(expected)), `${said.slice(0, 80)} → ${reply}`)
}
