import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { checkMail, createSession, rawMail } from './kit/http/api-client.ts'
import { mountProblem } from './kit/programs/capabilities.ts'
import { skipIfProblem } from './kit/skip.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { sha256, uniqueMail } from './kit/store/ledger.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const ROOM = { MAYFLY_SESSION_MAX_MESSAGES: '100000', MAYFLY_SESSION_MAX_BYTES: '10GB' }

describe('no space for mail', () => {
  test('a full mail.db defers mail with 452, reads keep working, and freed space is used', async () => {
    const app = await startApp({ env: { ...ROOM, MAYFLY_MAIL_DB_MAX: '2MB' } })
    const box = await app.session()
    const stored = await fill(app, box.email)
    expect(stored.length, `${stored.length} mails fitted`).toBeGreaterThan(5)
    await assertStored(app, box.token, stored)
    // Small mails use up the remaining space.
    for (let sent = 0; (await app.mail(box.email)) === 250; sent += 1)
      expect(sent).toBeLessThan(10_000)
    const ready = () => fetch(`${app.url}/readyz`)
    await waitUntil(async () => (await ready()).status === 503)
    expect(await (await ready()).text()).toMatch(/MAYFLY_MAIL_DB_MAX/)

    // Delete more than one: listing extracts codes, and the results are stored if there is space.
    for (const { id } of await checkMail(app.url, box.token)) {
      const body = new URLSearchParams({ token: box.token, id: String(id) })
      const remove = () => fetch(`${app.url}/api/delete-mail`, { method: 'POST', body })
      let status = 0
      // A deletion fails if it shares its commit with a write for which there is no space.
      await waitUntil(async () => {
        status = (await remove()).status
        return status !== 503
      })
      expect(status, 'mail can be deleted from a full store').toBe(200)
    }
    // The free space is cached for 200 ms.
    await waitUntil(async () => (await app.mail(box.email)) === 250)
    expect((await ready()).status).toBe(200)
    await app.stop()
  })

  test('low disk space defers mail with 452 before the disk is full, and /readyz gives the reason', async () => {
    const app = await startApp({ env: { MAYFLY_MIN_FREE: '1000TB' } })
    const box = await app.session()
    const client = await connectSmtp(app.smtpPort)
    await client.command('EHLO a.test')
    expect((await client.command('MAIL FROM:<a@a.test>')).text).toMatch(/^452 4\.3\.1 /)
    client.close()
    const ready = await fetch(`${app.url}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.text()).toMatch(/MAYFLY_MIN_FREE/)
    expect(await checkMail(app.url, box.token)).toStrictEqual([])
    await app.stop()
  })
})

// Mounts a file system: only in CI or the long tests.
const mayMount = process.env['CI'] || process.env['MAYFLY_TEST_LONG']
describe.runIf(mayMount)('a disk that is actually full', () => {
  skipIfProblem(mountProblem)

  test('mail is deferred with 452, the service recovers by itself, and no acknowledged mail is lost', async () => {
    const folder = smallDisk('16m')
    const ballast = `${folder.path}/ballast`
    writeFileSync(ballast, Buffer.alloc(8_000_000))
    const app = await startApp({ folder, env: { ...ROOM, MAYFLY_MIN_FREE: '0' } })
    const box = await createSession(app.url)
    const stored = await fill(app, box.email)
    expect(stored.length, `${stored.length} mails fitted`).toBeGreaterThan(20)
    await assertStored(app, box.token, stored)

    rmSync(ballast)
    const { raw, sha256: hash, uuid } = uniqueMail(1_000)
    expect(await app.mail(box.email, raw)).toBe(250)
    await assertStored(app, box.token, [...stored, { uuid, sha256: hash }])
    await app.stop()
  })
})

function smallDisk(size: string): ReturnType<typeof tempFolder> {
  const folder = tempFolder(DISK)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder.path])
  const remove = () => {
    execFileSync('umount', [folder.path])
    folder.remove()
  }
  return { path: folder.path, remove }
}

interface StoredMail {
  uuid: string
  sha256: string
}

/** Sends until the reply is 452, the only rejection allowed. */
async function fill(app: App, to: string): Promise<StoredMail[]> {
  const stored: StoredMail[] = []
  const client = await connectSmtp(app.smtpPort)
  for (let sent = 0; sent < 10_000; sent += 1) {
    const { uuid, sha256: hash } = uniqueMail(10)
    const raw = Buffer.concat([
      Buffer.from(`Subject: ${uuid}\r\n\r\n`),
      Buffer.from(Array.from({ length: 40_000 }, () => 33 + Math.floor(Math.random() * 90))),
      Buffer.from(`\r\n${hash}\r\n`),
    ])
    const reply = await client.send({ to: [to], raw })
    if (reply.code !== 250) {
      expect(reply.text).toMatch(/^452 4\.3\.1 /)
      client.close()
      return stored
    }
    stored.push({ uuid, sha256: sha256(raw) })
  }
  throw new Error('the store never became full')
}

async function assertStored(app: App, token: string, stored: readonly StoredMail[]): Promise<void> {
  const messages = await checkMail(app.url, token, '&limit=500')
  const ids = new Map(messages.map((message) => [message.subject, message.id]))
  for (const { uuid, sha256: hash } of stored) {
    expect(sha256(await rawMail(app.url, token, ids.get(uuid) ?? 0))).toBe(hash)
  }
}
