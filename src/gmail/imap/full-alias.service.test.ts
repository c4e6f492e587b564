import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MailboxId } from '../../mail/rules/session.ts'
import { parseRules } from '../../shared/address-rules.ts'
import { asOwner, dovecotForTests, folderContents } from './testing/dovecot-account.ts'
import { ANN, mailText } from './testing/fixture.ts'
import { openProxy } from './testing/proxy.ts'
import { openStoredAccount, type StoredAccount } from './testing/stored-account.ts'

const dovecot = dovecotForTests()
const FULL = 'ann+full@mail.test'
const FREE = 'ann+free@mail.test'
const REMOVING = { deleteAfterFetch: true }

let account: StoredAccount
let proxy: Awaited<ReturnType<typeof openProxy>>
let full: MailboxId
let free: MailboxId

// Two messages fill a mailbox; FULL starts with a full one.
beforeEach(async () => {
  await asOwner(dovecot.server().port, async (client) => {
    for (const folder of ['INBOX', 'Spam', 'Trash']) {
      const { exists } = await client.mailboxOpen(folder)
      if (exists > 0) await client.messageDelete('1:*')
    }
  })
  proxy = await openProxy(dovecot.server().port)
  account = await openStoredAccount(2)
  full = await account.alias(FULL)
  free = await account.alias(FREE)
})
afterEach(async () => {
  await account.close()
  await proxy.close()
})

const deliver = (body: string, to: string, folder = 'INBOX') =>
  dovecot.server().deliver(ANN, mailText({ To: to }, body), { folder })
const inAccount = async (folder: 'INBOX' | 'Spam' | 'Trash' = 'INBOX') =>
  (await folderContents(dovecot.server().port))[folder].map(({ raw }) =>
    raw.split('\r\n\r\n')[1]?.trim(),
  )

/** One complete poll. */
async function lookOnce(): Promise<void> {
  const before = proxy.state.lines.length
  account.requestPoll()
  await proxy.until(({ lines }) => lines.length > before + 1 && lines.at(-1) === 'IDLE')
}

async function fillUp(changes = {}): Promise<void> {
  await account.connect(proxy.port, changes)
  deliver('one', FULL)
  deliver('two', FULL)
  await account.untilBodies(full, ['one', 'two'])
}

describe('a mail to a full alias and to one with room', () => {
  test('stays in the account and is delivered once to the alias with room', async () => {
    await fillUp(REMOVING)
    deliver('both', `${FULL}, ${FREE}`)
    await account.untilBodies(free, ['both'])
    await lookOnce()
    await lookOnce()
    expect(await inAccount()).toStrictEqual(['both'])
    expect(await account.bodies(free)).toStrictEqual(['both'])
  })

  test('is delivered and removed once there is room, and to nobody twice', async () => {
    await fillUp(REMOVING)
    deliver('both', `${FULL}, ${FREE}`)
    await account.untilBodies(free, ['both'])
    await account.deleteOldest(full)
    await lookOnce()
    await account.untilBodies(full, ['two', 'both'])
    await lookOnce()
    expect([...(await inAccount()), ...(await inAccount('Trash'))]).toStrictEqual([])
    expect(await account.bodies(free)).toStrictEqual(['both'])
  })

  test('is removed once the rules of the alias refuse it', async () => {
    const address = 'ann+limited@mail.test'
    const limited = await account.alias(address, parseRules({ max_messages: 3 }))
    await account.connect(proxy.port, REMOVING)
    for (const body of ['one', 'two', 'three', 'four']) deliver(body, address)
    deliver('last', FREE)
    await account.untilBodies(free, ['last'])
    await lookOnce()
    expect(await inAccount()).toStrictEqual(['three', 'four'])
    await account.deleteOldest(limited)
    await account.deleteOldest(limited)
    await lookOnce()
    await lookOnce()
    expect(await account.bodies(limited)).toStrictEqual(['three'])
    expect([...(await inAccount()), ...(await inAccount('Trash'))]).toStrictEqual([])
  })

  test('is removed once the full alias has expired', async () => {
    await fillUp(REMOVING)
    deliver('full only', FULL)
    deliver('both', `${FULL}, ${FREE}`)
    await account.untilBodies(free, ['both'])
    await account.store.endSession(full, account.now())
    await lookOnce()
    await lookOnce()
    expect([...(await inAccount()), ...(await inAccount('Trash'))]).toStrictEqual([])
    expect(await account.bodies(free)).toStrictEqual(['both'])
  })
})

describe('a mail to a full alias', () => {
  test('is delivered once there is room, also without delete_after_fetch', async () => {
    await fillUp()
    deliver('late', FULL)
    deliver('spam', FULL, 'Spam')
    await lookOnce()
    await account.deleteOldest(full)
    await account.deleteOldest(full)
    await lookOnce()
    await account.untilBodies(full, ['late', 'spam'])
    expect(await inAccount()).toStrictEqual(['one', 'two', 'late'])
    expect(await inAccount('Spam')).toStrictEqual(['spam'])
  })

  test('is delivered after a restart and after a change of UIDVALIDITY', async () => {
    await fillUp(REMOVING)
    deliver('late', FULL)
    deliver('later', FULL)
    deliver('marker', FREE)
    await account.untilBodies(free, ['marker'])
    await account.deleteOldest(full)
    await account.connect(proxy.port, REMOVING)
    await account.untilBodies(full, ['two', 'late'])
    await dovecot.server().stop('SIGKILL')
    dovecot.server().resetUids(ANN)
    await dovecot.server().start()
    await account.connect(proxy.port, REMOVING)
    await account.deleteOldest(full)
    await lookOnce()
    await account.untilBodies(full, ['late', 'later'])
    await lookOnce()
    expect(await inAccount()).toStrictEqual([])
  })

  test('is not downloaded again until there is room, and does not delay new mail', async () => {
    await fillUp(REMOVING)
    const backlog = Array.from({ length: 60 }, (_, number) => `waiting ${number}`)
    for (const body of backlog) deliver(body, FULL)
    deliver('marker', FREE)
    await account.untilBodies(free, ['marker'])
    const downloads = () => proxy.state.commands.filter((line) => line.includes('BODY.PEEK[]'))
    const before = downloads().length
    await lookOnce()
    deliver('new', FREE)
    await account.untilBodies(free, ['marker', 'new'])
    await lookOnce()
    expect(downloads().length - before).toBe(1)
    await account.deleteOldest(full)
    await lookOnce()
    await account.untilBodies(full, ['two', 'waiting 0'])
    await lookOnce()
    expect(downloads().length - before).toBe(2)
    expect(await inAccount()).toEqual(backlog.slice(1))
  })
})
