import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { head, newMail } from '../../../test/kit/store/fixture.ts'
import type { Address, Host } from '../../base/address.ts'
import { decideRecipient, type Recipient } from '../../mail/rules/recipient.ts'
import { PERMANENT, POOL } from '../../mail/rules/session.ts'
import { backupFolders, NOW } from '../sqlite/testing/backup-folders.ts'
import type { Store } from '../store.ts'

const { paths, backup, restore, start, inMail, fill } = backupFolders()
let [data, file, empty] = ['', '', '']
beforeEach(() => {
  ;({ data, file, empty } = paths)
})

/** With the methods that a command does not need. */
const inStore = <T>(operation: (store: Store) => Promise<T>, folder?: string) =>
  inMail((store) => operation(store as unknown as Store), folder)

/** own.test is that of key k1, with the permanent address ann@own.test, and has some mail. */
async function fillOwnDomain() {
  await fill()
  const name = 'own.test' as Host
  const claim = { id: 'dom_1', keyId: 'k1', name, token: 't', createdAt: NOW }
  const session = {
    ...{ address: 'ann@own.test' as Address, tokenHash: 'h', keyId: 'k1', ownDomain: name },
    ...{ createdAt: NOW, expiresAt: PERMANENT, cooldownMs: 0, label: 'for good' },
  }
  await inStore(async (store) => {
    await store.addOwnDomain(claim, 1)
    await store.activateOwnDomain({ id: 'dom_1', keyId: 'k1', now: NOW })
    await store.createSession(session)
    const recipients = [await accepted(store, 'any@own.test'), await accepted(store, ANN_OWN)]
    const mail = newMail(recipients, { head: head('Private subject') })
    expect((await store.addMail(mail)).outcome).toBe('stored')
  })
}
const ANN_OWN = 'ann@own.test'

async function accepted(
  store: Pick<Store, 'findRecipient'>,
  text: string,
  ownMaxBytes = 3,
): Promise<Recipient> {
  const facts = await store.findRecipient(text as Address)
  const limits = {
    ...{ mailbox: { maxMessages: 9, maxBytes: 1e6 }, maxMailBytes: 1e6 },
    ...{ poolMaxBytes: 1e6, ownMaxBytes },
  }
  const found = decideRecipient(text as Address, facts, { limits, now: NOW, size: 0 })
  expect.assert('mailbox' in found)
  return { address: text as Address, ...found }
}

describe('a domain of a key holder', () => {
  test('is still theirs after a restore, with its permanent addresses, and empty', async () => {
    await fillOwnDomain()
    backup()
    expect(readFileSync(file).includes('Private subject')).toBe(false)
    restore()
    await start(empty)
    await inStore(async (store) => {
      expect(await store.findDomain('own.test' as Host)).toMatchObject({ owner: 'k1' })
      expect((await store.listDomains()).map(({ name }) => name)).not.toContain('own.test')
      // Another key may have taken it over since: not until its record has been found.
      expect(await store.listOwnDomains('k1')).toMatchObject([
        { state: 'suspended', reason: 'restored', checkedAt: undefined, name: 'own.test' },
      ])
      expect(await store.findDomain('own.test' as Host)).toMatchObject({ active: false })
      await store.changeOwnDomain('dom_1', { state: 'active', reason: null })
      const page = { keyId: 'k1', now: NOW, beforeId: undefined, limit: 9 }
      expect(await store.listKeySessions(page)).toMatchObject([
        { address: ANN_OWN, label: 'for good', count: 0, bytes: 0 },
      ])
      // It may have been replaced since the backup.
      expect(await store.findSession('h')).toBeUndefined()
      const recipients = [await accepted(store, 'any@own.test'), await accepted(store, ANN_OWN)]
      const mailboxes = recipients.map(({ mailbox }) => mailbox)
      expect(mailboxes).not.toContain(POOL)
      const scope = { keyId: 'k1', pool: false, to: undefined, now: NOW }
      const all = { sinceId: 0, beforeId: undefined, limit: 9 }
      expect(await store.listKeyMail(scope, all)).toStrictEqual([])
      await store.addMail(newMail(recipients, { head: head('after') }))
      expect((await store.listKeyMail(scope, all)).map(({ subject }) => subject)).toStrictEqual([
        ...['after', 'after'],
      ])
      expect(await store.listKeyMail({ ...scope, keyId: 'k2', pool: true }, all)).toStrictEqual([])
    }, empty)
  })

  test.each(['record_missing', 'suspended_by_operator'] as const)(
    'that was suspended takes no mail after a restore: %s',
    async (reason) => {
      await fillOwnDomain()
      await inStore((store) => store.changeOwnDomain('dom_1', { state: 'suspended', reason }))
      backup()
      restore()
      await inStore(async (store) => {
        const shown = reason === 'record_missing' ? 'restored' : reason
        expect(await store.listUnconfirmedOwnDomains()).toMatchObject([
          { state: 'suspended', reason: shown, name: 'own.test' },
        ])
        expect(await store.findDomain('own.test' as Host)).toMatchObject({ active: false })
      }, empty)
    },
  )

  test('has no version of before the restore, so that no ETag is valid', async () => {
    await fillOwnDomain()
    backup()
    const scope = { keyId: 'k1', pool: false, to: undefined, now: NOW }
    const versionsOf = (folder: string) =>
      inStore(async (store) => {
        await store.changeOwnDomain('dom_1', { state: 'active', reason: null })
        const versions: string[] = []
        for (const to of ['any@own.test', ANN_OWN]) {
          await store.addMail(newMail([await accepted(store, to, 1e6)]))
          versions.push(await store.keyMailVersion(scope))
          versions.push(await store.keyMailVersion({ ...scope, to: to as Address }))
        }
        return versions
      }, folder)
    restore()
    await start(empty)
    const [before, after] = [await versionsOf(data), await versionsOf(empty)]
    for (const version of after) expect(before).not.toContain(version)
  })

  test('is a claim to be verified in a mail.db that is kept: it may have been given up since', async () => {
    await fillOwnDomain()
    backup()
    await inStore((store) => store.deleteOwnDomain('dom_1', 'k1', NOW))
    expect(restore(data)).toMatchObject({ keptMail: true })
    await inStore(async (store) => {
      expect(await store.findDomain('own.test' as Host)).toBeUndefined()
      expect(await store.listOwnDomains('k1')).toMatchObject([
        { id: 'dom_1', state: 'pending', token: 't', verifiedAt: undefined, checkedAt: undefined },
      ])
    })
  })

  test('stays as it is in a mail.db that is kept', async () => {
    await fillOwnDomain()
    backup()
    const before = await inStore((store) => store.listAllOwnDomains({ limit: 9 }))
    restore(data)
    expect(await inStore((store) => store.listAllOwnDomains({ limit: 9 }))).toEqual(before)
  })

  test('that the operator has suspended cannot be verified in a mail.db that is kept', async () => {
    await fillOwnDomain()
    const reason = 'suspended_by_operator'
    await inStore((store) => store.changeOwnDomain('dom_1', { state: 'suspended', reason }))
    backup()
    await inStore((store) => store.deleteOwnDomain('dom_1', undefined, NOW))
    restore(data)
    await inStore(async (store) => {
      const activated = await store.activateOwnDomain({ id: 'dom_1', keyId: 'k1', now: NOW })
      expect(activated.outcome).toBe('held')
      expect(await store.deleteOwnDomain('dom_1', 'k1', NOW)).toBe('suspended')
    })
  })
})
