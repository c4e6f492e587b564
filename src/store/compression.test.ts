import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Address } from '../base/address.ts'
import { type MailboxId, OPERATOR, POOL } from '../mail/rules/session.ts'
import { compress, compressMail, compressMailAsync, decompress } from './compression.ts'

const KB = 1024
const mail = (raw: Uint8Array, mailbox: number) => ({
  raw,
  recipients: [{ address: 'ann@box.test' as Address, mailbox: mailbox as MailboxId }],
})
const SESSION = 1_000

describe('mail of a session', () => {
  for (const bytes of [0, 1, 255, 256, 4 * KB, 16 * KB - 1, 16 * KB, 300 * KB]) {
    test(`of ${bytes} bytes is the same when it is read`, async () => {
      for (const raw of [randomBytes(bytes), Buffer.alloc(bytes, 'text ')]) {
        expect(await decompress(compressMail(mail(raw, SESSION)))).toStrictEqual(raw)
        expect(await decompress(await compressMailAsync(mail(raw, SESSION)))).toStrictEqual(raw)
      }
    })
  }

  test('is the same if its frame does not have its size, as in version 0.3.0', async () => {
    const raw = randomBytes(1_500 * KB)
    expect(await decompress(await promisify(zstdCompress)(raw))).toStrictEqual(raw)
  })

  test('is compressed from 16 KB', () => {
    const stored = (bytes: number) => compressMail(mail(Buffer.alloc(bytes, 'a'), SESSION)).length
    expect(stored(16 * KB - 1)).toBe(16 * KB - 1 + 12)
    expect(stored(16 * KB)).toBeLessThan(100)
  })
})

test('mail of a shared mailbox is always compressed, because its bytes are counted as stored', async () => {
  const raw = Buffer.alloc(1_000, 'a')
  for (const mailbox of [POOL, OPERATOR]) {
    const both = mail(raw, mailbox)
    both.recipients.unshift(...mail(raw, SESSION).recipients)
    expect(compressMail(both)).toStrictEqual(compress(raw))
    expect(await compressMailAsync(both)).toStrictEqual(compress(raw))
  }
})
