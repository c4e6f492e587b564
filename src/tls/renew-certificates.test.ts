import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { recordingLog } from '../../test/kit/recording-log.ts'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { AcmeError } from './acme/error.ts'
import type { AcmeResponse, SendAcme } from './acme/http.ts'
import { openTlsFiles } from './files.ts'
import { readAttempts, renewCertificates } from './renew-certificates.ts'

const CA = 'https://ca.test'
const NOW = new Date('2026-05-01T12:00:00Z')
let folder: ReturnType<typeof tempFolder>
beforeEach(() => {
  folder = tempFolder()
})
afterEach(() => folder.remove())

const json = (status: number, value: object, headers = {}): AcmeResponse => {
  return { status, headers: { 'replay-nonce': 'n', ...headers }, body: JSON.stringify(value) }
}

/** A CA that accepts accounts; orders get this response. */
function openCa(order: () => AcmeResponse) {
  const asked: string[] = []
  const send: SendAcme = async (url) => {
    const { pathname } = new URL(url)
    asked.push(pathname)
    const urls = { newNonce: `${CA}/nonce`, newAccount: `${CA}/account`, newOrder: `${CA}/order` }
    if (pathname === '/dir') return json(200, urls)
    if (pathname === '/account') return json(201, {}, { location: `${CA}/account/1` })
    return pathname === '/order' ? order() : json(200, {})
  }
  return { send, asked }
}

async function renew(send: SendAcme, now = NOW, names = ['a.test', 'b.test']) {
  const storage = openTlsFiles(folder.path, () => {})
  const { log, lines } = recordingLog()
  const deps = { storage, send, log, directory: `${CA}/dir`, email: 'ann@a.test' }
  const { signal } = new AbortController()
  await renewCertificates({ ...deps, now: () => now, onSaved: async () => {} }, names, signal)
  return { lines, attempts: await readAttempts(storage) }
}

test('an outage in the middle of an order is recorded, and the next name is tried', async () => {
  const { send, asked } = openCa(() => {
    throw new AcmeError('no response from ca.test: socket hang up')
  })
  const { lines, attempts } = await renew(send)
  expect(asked.filter((path) => path === '/order')).toHaveLength(2)
  expect(attempts.get('a.test')).toMatchObject({ failures: 1, nextAt: NOW.getTime() + 120_000 })
  expect(lines.join('\n')).toMatch(/warn no certificate obtained .*socket hang up/)
})

test('a CA that cannot be reached is asked once, not for each name', async () => {
  const asked: string[] = []
  const { attempts } = await renew(async (url) => {
    asked.push(url)
    throw new AcmeError('no response from ca.test: ECONNREFUSED')
  })
  expect(asked).toStrictEqual([`${CA}/dir`])
  expect([...attempts.values()].map(({ failures }) => failures)).toStrictEqual([1, 1])
})

test('a certificate that cannot be read is not replaced by one with another key', async () => {
  // As root, any file can be read, but no folder.
  mkdirSync(join(folder.path, 'a.test.pem'))
  const { send } = openCa(() => json(500, {}))
  const { attempts } = await renew(send)
  expect([...attempts.keys()]).toStrictEqual(['b.test'])
})

test('a name whose attempts cannot be read is not tried: the CA may want us to wait', async () => {
  mkdirSync(join(folder.path, 'a.test.attempts.json'))
  const { send, asked } = openCa(() => json(500, {}))
  await renew(send)
  expect(asked.filter((path) => path === '/order')).toHaveLength(1)
})

test('a rate limit in attempts that cannot be read is learned again from one other name', async () => {
  const type = 'urn:ietf:params:acme:error:rateLimited'
  const { send, asked } = openCa(() => json(429, { type }, { 'retry-after': '7200' }))
  mkdirSync(join(folder.path, 'a.test.attempts.json'))
  for (const minutes of [0, 5, 119])
    await renew(send, new Date(NOW.getTime() + minutes * 60_000), ['a.test', 'b.test', 'c.test'])
  expect(asked.filter((path) => path === '/order')).toHaveLength(1)
})

test('an account that cannot be read is not replaced by another, and no attempt is counted', async () => {
  const { send, asked } = openCa(() => json(500, {}))
  const before = await renew(send)
  const [account = ''] = readdirSync(folder.path).filter((name) => name.endsWith('.account.json'))
  rmSync(join(folder.path, account))
  mkdirSync(join(folder.path, account))
  asked.length = 0
  const { attempts } = await renew(send, new Date(NOW.getTime() + 86_400_000))
  expect(attempts).toStrictEqual(before.attempts)
  expect(asked).toStrictEqual([])
})

test('a rate limit is kept across restarts, for all names, until the time that the CA named', async () => {
  const type = 'urn:ietf:params:acme:error:rateLimited'
  const { send, asked } = openCa(() => json(429, { type }, { 'retry-after': '7200' }))
  await renew(send)
  const orders = () => asked.filter((path) => path === '/order').length
  for (const [minutes, expected] of [
    [5, 1],
    [119, 1],
    [120, 2],
  ] as const) {
    await renew(send, new Date(NOW.getTime() + minutes * 60_000))
    expect(orders(), `${minutes} minutes later`).toBe(expected)
  }
  // The account is kept.
  expect(asked.filter((path) => path === '/account')).toHaveLength(1)
})

test('a name that is limited again and again does not keep others from their turn', async () => {
  const type = 'urn:ietf:params:acme:error:rateLimited'
  const { send } = openCa(() => json(429, { type }, { 'retry-after': '7200' }))
  await renew(send)
  const { attempts } = await renew(send, new Date(NOW.getTime() + 7_200_000))
  expect([...attempts].map(([name, { failures }]) => [name, failures])).toStrictEqual([
    ['a.test', 1],
    ['b.test', 1],
  ])
})
