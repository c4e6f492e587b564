import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { parseProxyHeader } from './accept-connection.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'
import { splitAt } from './testing/transcript.ts'

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const IPV4 = Buffer.from('c0000207c6336401303900190000', 'hex').subarray(0, 12)
const IPV6 = Buffer.from(
  '20010db8000000000000000000000007fd000000000000000000000000000001d0310019',
  'hex',
)

function version2(command: number, family: number, body: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(body.length)
  return Buffer.concat([SIGNATURE, Buffer.from([command, family]), length, body])
}

const withTlv = Buffer.concat([IPV4, Buffer.from('04000400000000', 'hex')])

describe('a valid header is parsed once it is complete', () => {
  for (const [name, header, ip] of [
    ['version 1, IPv4', Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 12345 25\r\n'), '192.0.2.7'],
    ['version 1, IPv6', Buffer.from('PROXY TCP6 2001:db8::7 fd00::1 53297 25\r\n'), '2001:db8::7'],
    ['version 1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
    ['version 1, unknown with addresses', Buffer.from('PROXY UNKNOWN a b 1 2\r\n'), undefined],
    ['version 2, IPv4', version2(0x21, 0x11, IPV4), '192.0.2.7'],
    ['version 2, IPv6', version2(0x21, 0x21, IPV6), '2001:db8::7'],
    ['version 2, with TLVs', version2(0x21, 0x11, withTlv), '192.0.2.7'],
    ['version 2, local', version2(0x20, 0x00, Buffer.alloc(0)), undefined],
    ['version 2, local with an address', version2(0x20, 0x11, IPV4), undefined],
  ] as const) {
    test(name, () => {
      for (let length = 0; length < header.length; length += 1) {
        expect(parseProxyHeader(header.subarray(0, length))).toBe('more')
      }
      const expected = { length: header.length, ip }
      expect(parseProxyHeader(header)).toStrictEqual(expected)
      expect(parseProxyHeader(Buffer.concat([header, Buffer.from('EHLO')]))).toStrictEqual(expected)
    })
  }
})

describe('an invalid header is rejected', () => {
  for (const [name, bytes] of [
    ['a greeting', 'EHLO a.test\r\n'],
    ['lower case', 'proxy TCP4 192.0.2.7 198.51.100.1 1 25\r\n'],
    ['no protocol', 'PROXY \r\n'],
    ['another protocol', 'PROXY UDP4 192.0.2.7 198.51.100.1 1 25\r\n'],
    ['IPv6 as IPv4', 'PROXY TCP4 2001:db8::7 fd00::1 1 25\r\n'],
    ['IPv4 as IPv6', 'PROXY TCP6 192.0.2.7 198.51.100.1 1 25\r\n'],
    ['no such address', 'PROXY TCP4 192.0.2.256 198.51.100.1 1 25\r\n'],
    ['a leading zero', 'PROXY TCP4 192.0.2.07 198.51.100.1 1 25\r\n'],
    ['a port too high', 'PROXY TCP4 192.0.2.7 198.51.100.1 65536 25\r\n'],
    ['a port with a zero before it', 'PROXY TCP4 192.0.2.7 198.51.100.1 01 25\r\n'],
    ['a field too few', 'PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n'],
    ['a field too many', 'PROXY TCP4 192.0.2.7 198.51.100.1 1 25 x\r\n'],
    ['two spaces', 'PROXY TCP4  192.0.2.7 198.51.100.1 1 25\r\n'],
    ['a bare LF', 'PROXY TCP4 192.0.2.7 198.51.100.1 1 25\n'],
    ['no end', `PROXY UNKNOWN ${'x'.repeat(200)}`],
    ['an end too late', `PROXY UNKNOWN ${'x'.repeat(100)}\r\n`],
    ['version 3', version2(0x31, 0x11, IPV4)],
    ['another command', version2(0x22, 0x11, IPV4)],
    ['UDP', version2(0x21, 0x12, IPV4)],
    ['a UNIX socket', version2(0x21, 0x31, Buffer.alloc(216))],
    ['a proxied connection without addresses', version2(0x21, 0x00, Buffer.alloc(0))],
    ['IPv4 cut short', version2(0x21, 0x11, IPV4.subarray(0, 11))],
    ['IPv6 cut short', version2(0x21, 0x21, IPV6.subarray(0, 35))],
    ['too many TLVs', version2(0x21, 0x11, Buffer.alloc(3_000))],
    ['a wrong signature', Buffer.from('0d0a0d0a000d0a515549540b', 'hex')],
  ] as const) {
    test(name, () => {
      expect(parseProxyHeader(Buffer.from(bytes as string, 'latin1'))).toBe('bad')
    })
  }
})

describe('behind a load balancer', () => {
  const { deps, seen } = recordingDeps()
  let server: SmtpServer

  beforeAll(async () => {
    const options = { port: 0, hostname: 'mx.box.test', proxyFrom: ['127.0.0.0/8'] }
    server = await openSmtpServer(deps, options)
  })
  afterAll(() => server.close())

  const session =
    'EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n'

  test('the client has the address of the header, however it is split', async () => {
    const header = 'PROXY TCP4 192.0.2.7 198.51.100.1 12345 25\r\n'
    const bytes = Buffer.from(header + session)
    for (const offset of [1, 5, header.length - 1, header.length, header.length + 3]) {
      const client = openClient(server.port)
      for (const piece of splitAt(bytes, [offset])) client.send(piece)
      expect(await client.rest()).toMatch(/^220 .*221 [^\r]*\r\n$/s)
      expect(seen.mails.pop()?.envelope.clientIp).toBe('192.0.2.7')
      expect(seen.heldIps.pop()).toBe('192.0.2.7')
    }
  })

  test('an IPv4-mapped address is recorded as IPv4', async () => {
    const client = openClient(server.port)
    client.send(`PROXY TCP6 ::ffff:192.0.2.8 fd00::1 1 25\r\n${session}`)
    await client.rest()
    expect(seen.mails.pop()?.envelope.clientIp).toBe('192.0.2.8')
  })

  test('an IPv6 address is recorded in canonical form', async () => {
    for (const spelling of ['2001:DB8:0:0:0:0:0:7', '2001:0db8::0007', '2001:db8::7']) {
      const client = openClient(server.port)
      client.send(`PROXY TCP6 ${spelling} fd00::1 1 25\r\n${session}`)
      await client.rest()
      expect(seen.mails.pop()?.envelope.clientIp).toBe('2001:db8::7')
    }
  })

  test('a health check counts as the load balancer itself', async () => {
    const client = openClient(server.port)
    client.send(version2(0x20, 0x00, Buffer.alloc(0)))
    await expectReply(client, 'the greeting', 220)
    client.socket.destroy()
    expect(seen.heldIps.pop()).toBe('127.0.0.1')
  })

  test('without a header the connection is closed without a greeting', async () => {
    const client = openClient(server.port)
    client.send(session)
    expect(await client.rest()).toBe('')
    expect(seen.mails.length).toBe(0)
    expect(seen.lines.at(-1)?.level).toBe('warn')
  })

  test('a client that leaves in the middle of the header leaves nothing behind', async () => {
    const client = openClient(server.port)
    client.send('PROXY TCP4 192')
    client.socket.end()
    expect(await client.rest()).toBe('')
    await waitUntil(() => seen.held === 0)
  })

  test('a header from any other peer is a command', async () => {
    const client = openClient(server.port, '::1')
    client.send('PROXY TCP4 192.0.2.7 198.51.100.1 12345 25\r\n')
    await expectReply(client, 'the greeting', 220)
    await expectReply(client, 'PROXY', 500)
    client.socket.destroy()
    expect(seen.heldIps.pop()).toBe('::1')
  })
})
