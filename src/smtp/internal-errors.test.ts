import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const OPENING = 'EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n'
const OPENED = [220, 250, 250, 250, 354]
const broken = new Set<string>()
const { deps, seen } = recordingDeps()
let server: SmtpServer
let now = 0

/** Methods whose name is in `broken` throw when called. */
function breakable<Parts extends object>(parts: Parts): Parts {
  return new Proxy(parts, {
    get(target, name) {
      if (!broken.has(String(name))) return Reflect.get(target, name)
      return () => {
        throw new Error(`${String(name)} is broken`)
      }
    },
  })
}

beforeAll(async () => {
  const fragile = breakable({ ...deps, log: breakable(deps.log) })
  const options = { port: 0, hostname: 'mx.box.test', proxyFrom: ['::1'] }
  server = await openSmtpServer(fragile, { ...options, timeouts: { checkMs: 2 }, clock: () => now })
})
beforeEach(() => {
  broken.clear()
  seen.lines.splice(0)
})
afterAll(() => server.close())

describe('an internal error closes its own connection with 421 and no other:', () => {
  for (const [name, parts, input, codes] of [
    ['when a client connects', ['acquireConnection'], '', []],
    ['while data is received', ['reserveBytes'], `${OPENING}x\r\n`, OPENED],
    ['after an action', ['debug'], `${OPENING}x\r\n.\r\n`, OPENED],
    ['after an action, and again while closing', ['releaseBytes'], `${OPENING}x\r\n.\r\n`, OPENED],
    ['when another protocol is rejected', ['info'], 'GET / HTTP/1.1\r\n', [220, 500]],
    ['when the log fails', ['debug', 'error'], `${OPENING}x\r\n.\r\n`, OPENED],
  ] as const) {
    test(name, async () => {
      const other = openClient(server.port)
      await expectReply(other, 'the greeting', 220)
      for (const part of parts) broken.add(part)
      const client = openClient(server.port)
      client.send(input)
      for (const code of codes) await expectReply(client, input, code)
      expect(await client.rest()).toMatch(/^421 4\.3\.0 [^\r]*\r\n$/)

      broken.clear()
      other.send(`${OPENING}y\r\n.\r\nQUIT\r\n`)
      for (const code of [250, 250, 250, 354, 250, 221]) await expectReply(other, 'a mail', code)
      await waitUntil(() => seen.held === 0)
      const expected = parts.length > 1 ? [] : [`Error: ${parts[0]} is broken`]
      expect([...new Set(loggedErrors())]).toStrictEqual(expected)
    })
  }

  test('when a load balancer sends no header, or one for a client that cannot be accepted', async () => {
    broken.add('warn').add('acquireConnection')
    for (const [input, reply] of [
      ['EHLO a.test\r\n', /^$/],
      ['PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n', /^421 4\.3\.0 [^\r]*\r\n$/],
    ] as const) {
      const client = openClient(server.port, '::1')
      client.send(input)
      expect(await client.rest()).toMatch(reply)
    }
    const expected = ['Error: warn is broken', 'Error: acquireConnection is broken']
    expect(loggedErrors()).toStrictEqual(expected)
  })

  test('when the session times out', async () => {
    const before = seen.reserved
    const client = openClient(server.port)
    client.send(`${OPENING}x\r\n`)
    for (const code of OPENED) await expectReply(client, OPENING, code)
    await waitUntil(() => seen.reserved > before)
    broken.add('releaseBytes')
    now += 3_600_000
    expect(await client.rest()).toMatch(/^421 4\.4\.2 [^\r]*\r\n$/)
    await waitUntil(() => seen.held === 0)
    expect(loggedErrors()).toContain('Error: releaseBytes is broken')
  })
})

function loggedErrors(): string[] {
  return seen.lines.filter(({ level }) => level === 'error').map(({ facts }) => `${facts['err']}`)
}
