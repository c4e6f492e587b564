import { afterEach, beforeEach, expect } from 'vitest'
import {
  address,
  type Fixture,
  HOUR,
  head,
  host,
  newMail,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import { decideRecipient, type Recipient } from '../../mail/rules/recipient.ts'
import { PERMANENT } from '../../mail/rules/session.ts'
import type { NewMail } from '../../mail/store.ts'

/** Those of the stores. */
const LIMITS = {
  mailbox: { maxMessages: 5, maxBytes: 10_000 },
  poolMaxBytes: 20_000,
  ownMaxBytes: 20_000,
  maxMailBytes: 1_000,
}

export const claimId = (keyId: string, name = 'own.test') => `dom_${keyId}_${name}`

function claimOf(keyId: string, name: string) {
  return { id: claimId(keyId, name), keyId, name: host(name), token: `token of ${keyId}` }
}

/** A store for each test, and what keys do with domains of their own. */
export function ownFixture(open: () => Promise<OpenMailStore>) {
  const shared = {} as { fixture: Fixture }
  beforeEach(async () => {
    shared.fixture = await openFixture(await open())
  })
  afterEach(() => shared.fixture.close())
  let tokens = 0

  const claim = (keyId: string, name = 'own.test', { max = 5, createdAt = START } = {}) =>
    shared.fixture.store.addOwnDomain({ ...claimOf(keyId, name), createdAt }, max)
  const activate = async (keyId: string, { replaces = '', name, now = START }: Activated = {}) => {
    const { store } = shared.fixture
    const claimed = { id: claimId(keyId, name), keyId, now }
    return store.activateOwnDomain({ ...claimed, replaces: await store.findOwnDomain(replaces) })
  }

  /** As at RCPT, on the other node. */
  const rcpt = async (text: string, now = START, others: Recipient[] = []) => {
    const one = address(text)
    const facts = await shared.fixture.other.findRecipient(one)
    const found = decideRecipient(one, facts, { limits: LIMITS, now, size: 1, others })
    return 'refused' in found ? found.refused : { address: one, ...found }
  }
  const accept = async (...to: string[]): Promise<Recipient[]> => {
    const accepted = await Promise.all(to.map((text) => rcpt(text)))
    return accepted.map((one) => {
      expect.assert(typeof one === 'object', `accepted: ${one}`)
      return one
    })
  }

  return {
    shared,
    claim,
    activate,
    rcpt,
    accept,
    /** Makes a key the holder of a domain. */
    async hold(keyId: string, name = 'own.test') {
      await claim(keyId, name)
      expect((await activate(keyId, { name })).outcome).toBe('active')
    },
    takeOver: (to: string, from: string, now = START) =>
      activate(to, { replaces: claimId(from), now }),
    send: async (to: string[], subject: string, more: Partial<NewMail> = {}) =>
      shared.fixture.store.addMail(newMail(await accept(...to), { head: head(subject), ...more })),
    create(
      text: string,
      keyId: string | undefined,
      { lifeMs = HOUR, createdAt = START, ownDomain = 'own.test' as string | null } = {},
    ) {
      tokens += 1
      const tokenHash = `own-${tokens}`
      const session = newSession(text, { tokenHash, createdAt, lifeMs, keyId })
      return shared.fixture.store.createSession({
        ...session,
        ...(lifeMs === Number.POSITIVE_INFINITY && { expiresAt: PERMANENT }),
        ownDomain: ownDomain === null ? undefined : host(ownDomain),
      })
    },
    /** Subjects that the key sees, newest first; with the pool. */
    async seen(keyId: string, to?: string, now = START) {
      const scope = scopeOf(keyId, to, now)
      const page = { sinceId: 0, beforeId: undefined, limit: 100 }
      const messages = await shared.fixture.other.listKeyMail(scope, page)
      return messages.map(({ subject }) => subject)
    },
    versionOf: (keyId: string, to?: string) =>
      shared.fixture.other.keyMailVersion(scopeOf(keyId, to)),
  }
}

function scopeOf(keyId: string, to: string | undefined, now = START) {
  return { keyId, pool: true, to: to === undefined ? undefined : address(to), now }
}

interface Activated {
  replaces?: string
  name?: string
  now?: Date
}
