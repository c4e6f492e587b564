import { randomUUID } from 'node:crypto'
import { inlineParser } from '../../../test/kit/mail/inline-parser.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { parseAddress, parseHost } from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'
import type { LogFacts } from '../../base/log/log.ts'
import { makeWaiterCounts, openMemoryBus } from '../../bus/memory.ts'
import { EMPTY_MAIL, type Mail } from '../../shared/mail.ts'
import type { MailboxView } from '../list/mailbox-view.ts'
import { openSharedPolls } from '../list/shared-poll.ts'
import { openCodeScanner } from '../read/code-scanner.ts'
import { openLargeReads } from '../read/large-reads.ts'
import { openParseOnce } from '../read/parse-once.ts'
import { openParsedMail } from '../read/parsed-mail.ts'
import { openStepScheduler } from '../read/step-scheduler.ts'
import { receiveMail } from '../receive-mail.ts'
import type { MailboxId } from '../rules/session.ts'
import type { MailStore } from '../store.ts'

const STORE_LIMITS = {
  mailbox: { maxMessages: 100, maxBytes: 1_000_000 },
  poolMaxBytes: 1_000_000,
  ownMaxBytes: 1_000_000,
  maxMailBytes: 1_000_000,
}

export type CodeFixture = Awaited<ReturnType<typeof openCodeFixture>>

const HOUR_MS = 3_600_000
/** WAIT_FOREVER outlasts any test; NO_WAIT does not wait at all. */
export const WAIT_FOREVER = HOUR_MS
export const NO_WAIT = 0

/** What a scan saves besides the code. */
export const SCAN = { preview: 'scanned', attachments: 0, links: 0 }

/** The parsed mail with this code as its text; without codes if it is empty. */
export function mailWith(value: string): Mail {
  const codes = value === '' ? [] : [{ value, kind: 'digits' as const, confidence: 1 }]
  return { ...EMPTY_MAIL, text: value, codes }
}

/** A parser that takes the body of a mail as its code, and can be blocked. */
export function heldParser() {
  const read: string[] = []
  let gate = Promise.withResolvers<void>()
  let heldBody: string | undefined
  gate.resolve()
  return {
    /** The bodies, in the order in which parsing started. */
    read,
    /** All mails, or those with this body. */
    hold(body?: string): void {
      gate = Promise.withResolvers<void>()
      heldBody = body
    },
    release: () => gate.resolve(),
    async parse(raw: Uint8Array): Promise<Mail> {
      const body = Buffer.from(raw).toString().split('\r\n\r\n')[1] ?? ''
      read.push(body)
      if (heldBody === undefined || heldBody === body) await gate.promise
      return mailWith(body)
    },
  }
}

interface CodeOptions extends Partial<Pick<MailStore, 'findMessage'>> {
  resultWaitMs?: number
  parse?: (raw: Uint8Array) => Promise<Mail>
  limits?: Parameters<typeof openCodeScanner>[1]['limits']
}

/** A session whose mail is scanned for codes. */
export async function openCodeFixture({
  resultWaitMs = WAIT_FOREVER,
  parse = heldParser().parse,
  limits = {},
  ...overrides
}: CodeOptions = {}) {
  const opened = await openSqliteTestMail(STORE_LIMITS)
  const { store } = opened
  const bus = openMemoryBus(randomUUID(), makeWaiterCounts())
  const [address, name] = [parseAddress('ann@box.test'), parseHost('box.test')]
  if (!address || !name) throw new Error('a good address')
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  const token = makeSecretToken(new Uint8Array(32))
  const now = () => new Date()
  const session = await store.createSession({
    address,
    tokenHash: secretHash(token),
    keyId: undefined,
    createdAt: now(),
    expiresAt: new Date(now().getTime() + HOUR_MS),
    cooldownMs: HOUR_MS,
  })
  if (!session) throw new Error('the address is free')

  const logged: LogFacts[] = []
  const log = { warn() {}, error: (facts: LogFacts) => logged.push(facts) }
  const woken: MailboxId[] = []
  const recordingBus = {
    ...bus,
    wake(mailbox: MailboxId) {
      woken.push(mailbox)
      bus.wake(mailbox)
    },
  }
  const parseStored = openParseOnce({ store, parser: inlineParser(parse) })
  const parsed = openParsedMail({ store, largeReads: openLargeReads(), parse: parseStored })
  const checked: number[] = []
  const senderChecks = async ({ id }: { id: number }) => {
    checked.push(id)
    return undefined
  }
  const codes = openCodeScanner(
    { store: { ...store, ...overrides }, bus: recordingBus, parsed, senderChecks, log },
    { resultWaitMs, limits: { retry: { first: 1, max: 1 }, ...limits } },
  )
  const mailboxPolls = openSharedPolls<MailboxView>(bus)
  const deps = { store, bus, now, codes, parsed, steps: openStepScheduler(), mailboxPolls }

  return {
    ...deps,
    deps,
    token,
    session,
    logged,
    /** Mailboxes in which a message was scanned. */
    woken,
    /** Messages whose senders were checked. */
    checked,
    list: () => store.listMessages(session.id, { sinceId: 0, limit: 100 }),
    /** Stores a mail with this body and subject; returns its id. */
    async send(body: string, subject = ''): Promise<number> {
      const raw = Buffer.from(`Subject: ${subject}\r\n\r\n${body}`)
      const envelope = { clientIp: '', helo: '', mailFrom: '', tls: undefined, protocol: 'SMTP' }
      const recipients = [{ address, mailbox: session.id }]
      await receiveMail({ ...deps, findMailBlock: () => undefined }, { recipients, envelope, raw })
      return (await store.listMessageIds(session.id))[0] ?? 0
    },
    async close() {
      codes.close()
      // The bus delivers in the next turn of the event loop.
      await new Promise(setImmediate)
      await bus.close()
      await opened.close()
    },
  }
}
