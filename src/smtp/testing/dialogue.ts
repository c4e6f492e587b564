import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { expect } from 'vitest'

/** A scripted SMTP client. */
export interface Client {
  socket: Socket
  send(bytes: string | Uint8Array): void
  /** The next reply with all its lines; rejects if the connection ends before it. */
  reply(): Promise<string>
  /** Everything the server sends until it closes. */
  rest(): Promise<string>
  /** Upgrades to TLS. */
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
        expect(ended, `connection closed before a reply: "${text}"`).toBeFalsy()
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

/** Each command with the code or the start of the expected reply. */
type Lines = readonly (readonly [command: string, reply: number | string])[]

/** Connects, sends each command, checks its reply and disconnects. */
export async function dialogue(port: number, lines: Lines): Promise<void> {
  const client = openClient(port)
  try {
    await expectReply(client, 'the greeting', 220)
    for (const [command, expected] of lines) {
      client.send(`${command}\r\n`)
      await expectReply(client, command, expected)
    }
  } finally {
    client.socket.destroy()
  }
}

export async function expectReply(
  client: Client,
  command: string,
  expected: number | string,
): Promise<void> {
  const reply = await client.reply()
  expect(reply.startsWith(String(expected)), `${command.slice(0, 80)} → ${reply}`).toBeTruthy()
}
