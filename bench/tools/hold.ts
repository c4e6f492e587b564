import { connect, type Socket } from 'node:net'
import { tokenOf } from './fill.ts'
import type { HeldKind } from './start-flood.ts'

// Holds connections open: KIND HTTP-PORT SMTP-PORT COUNT. Each client address, given as by a proxy, has ten of them. Prints
// `running` once all are open, and its counts on SIGTERM.

const [kind, httpPort, smtpPort, count] = process.argv.slice(2)
const PER_ADDRESS = 10
const OPENED_AT_ONCE = 50
const SLOW_MS = 4_000
// Above the least rate of 500 bytes a second.
const SLOW_LINE = `${'x'.repeat(748)}\r\n`.repeat(4)

const counts = { open: 0, closed: 0 }

/** Resolves when the server has sent this. */
function open(port: number, first: string, expected: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(first))
    let text: string | undefined = ''
    socket.on('data', (bytes) => {
      if (text === undefined) return
      text += bytes.toString('latin1')
      if (!text.includes(expected)) return
      text = undefined
      counts.open += 1
      resolve(socket)
    })
    socket.on('error', reject)
    socket.on('close', () => {
      counts.closed += 1
      reject(new Error(`closed after: ${text}`))
    })
  })
}

function addressOf(number: number): string {
  const client = Math.floor(number / PER_ADDRESS)
  const network = { idle: 1, slow: 2, streams: 3 }[kind as HeldKind]
  return `10.${network}.${client >> 8}.${client & 255}`
}

function openSmtp(number: number, commands = '', expected = '220 '): Promise<Socket> {
  const proxy = `PROXY TCP4 ${addressOf(number)} 127.0.0.1 4000 25\r\n`
  return open(Number(smtpPort), `${proxy}${commands}`, expected)
}

/** Half of them send a command byte by byte, the others a mail line by line. */
async function openSlow(number: number): Promise<void> {
  const isData = number % 2 === 0
  const to = `bench${number}@box.test`
  const commands = `EHLO slow.test\r\nMAIL FROM:<a@slow.test>\r\nRCPT TO:<${to}>\r\nDATA\r\n`
  const socket = await (isData ? openSmtp(number, commands, '354 ') : openSmtp(number))
  const command = 'NOOP\r\n'
  let at = 0
  setTimeout(() => {
    setInterval(() => {
      socket.write(isData ? SLOW_LINE : (command[at % command.length] ?? ''))
      at += 1
    }, SLOW_MS)
  }, Math.random() * SLOW_MS)
}

function openStream(number: number): Promise<Socket> {
  const headers = `X-Forwarded-For: ${addressOf(number)}\r\nAuthorization: Bearer ${tokenOf(number)}`
  const request = `GET /api/events HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`
  return open(Number(httpPort), request, 'retry: ')
}

const OPEN = { idle: openSmtp, slow: openSlow, streams: openStream }

process.on('SIGTERM', () => {
  process.stdout.write(JSON.stringify(counts), () => process.exit(0))
})
for (let from = 0; from < Number(count); from += OPENED_AT_ONCE) {
  const some = Math.min(OPENED_AT_ONCE, Number(count) - from)
  await Promise.all(Array.from({ length: some }, (_, at) => OPEN[kind as HeldKind](from + at)))
}
process.stdout.write('running\n')
