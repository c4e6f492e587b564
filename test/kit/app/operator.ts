import { afterEach, beforeEach, expect } from 'vitest'
import { type Address, localOf, parseAddress, parseHost } from '../../../src/base/address.ts'
import type { BlockDeps } from '../../../src/blocks/blocks.ts'
import type { OperatorDeps } from '../../../src/mail/operator.ts'
import { isOperatorLocalPart } from '../../../src/mail/rules/prefix.ts'
import { OPERATOR, POOL } from '../../../src/mail/rules/session.ts'
import { openSqliteTestMail } from '../store/stores.ts'

const OWN = { networks: ['203.0.113.7'], domains: [] }

export const NOON = new Date('2026-03-01T12:00:00Z')

/** A new mail store with the domain box.test for each test, at noon, and the output of the commands. */
export function operatorFixture() {
  let mail: Awaited<ReturnType<typeof openSqliteTestMail>>
  let lines: string[] = []
  let waits = 0
  let tokens = 0

  beforeEach(async () => {
    const mailbox = { maxMessages: 5_000, maxBytes: 100_000_000 }
    mail = await openSqliteTestMail({
      mailbox,
      poolMaxBytes: 100_000_000,
      ownMaxBytes: 100_000_000,
      maxMailBytes: 10_000_000,
    })
    lines = []
    waits = 0
    const name = parseHost('box.test')
    expect.assert(name)
    await mail.store.addDomain({ name, sessions: true, reader: true, ttlSeconds: undefined })
  })
  afterEach(() => mail.close())

  return {
    get store() {
      return mail.store
    },
    get lines() {
      return lines
    },
    /** Number of times a command waited until its writes were visible to readers. */
    get waits() {
      return waits
    },
    print: (line: string) => void lines.push(line),
    deps(): OperatorDeps & BlockDeps {
      const waitUntilVisible = async () => {
        waits += 1
      }
      return { store: { ...mail.store, waitUntilVisible }, now: () => NOON, own: OWN }
    },
    async session(
      local: string,
      { minutes = 60, keyId }: { minutes?: number; keyId?: string } = {},
    ) {
      tokens += 1
      const tokenHash = `hash-${tokens}`
      const session = await mail.store.createSession({
        address: addressOf(`${local}@box.test`),
        tokenHash,
        keyId,
        createdAt: NOON,
        expiresAt: new Date(NOON.getTime() + minutes * 60_000),
        cooldownMs: 86_400_000,
      })
      expect.assert(session)
      return { ...session, tokenHash }
    },
    async send(to: string[], { clientIp = '192.0.2.7', bytes = 10 } = {}) {
      const recipients = await Promise.all(
        to.map(async (local) => {
          const address = addressOf(`${local}@box.test`)
          const { session } = await mail.store.findRecipient(address)
          const shared = isOperatorLocalPart(localOf(address)) ? OPERATOR : POOL
          return { address, mailbox: session?.id ?? shared }
        }),
      )
      const added = await mail.store.addMail({
        recipients,
        envelope: { clientIp, helo: 'x', mailFrom: '', tls: undefined, protocol: 'SMTP' },
        head: { senderName: '', senderEmail: 'ann@sender.test', subject: clientIp },
        raw: new Uint8Array(bytes),
        receivedAt: NOON,
      })
      expect(added.outcome).toBe('stored')
    },
  }
}

function addressOf(text: string): Address {
  const address = parseAddress(text)
  expect.assert(address)
  return address
}
