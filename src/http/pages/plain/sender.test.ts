import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Address } from '../../../base/address.ts'
import type { Message } from '../../../mail/rules/message.ts'
import type { Session } from '../../../mail/rules/session.ts'
import { EMPTY_MAIL } from '../../../shared/mail.ts'
import { localeOf } from '../locale.ts'
import { NO_BUILD } from '../testing/no-script-client.ts'
import { inboxPage } from './inbox.ts'
import { mailPage } from './mail.ts'

const ADDRESS = 'x@evil.test'
const SITE = { built: NO_BUILD, locale: localeOf('en'), abuse: '', shop: false }
const NOW = new Date('2026-03-01T12:00:00Z')

const from = (senderName: string): Message => ({
  id: 7,
  rawId: 1,
  recipient: 'ann@box.test' as Address,
  senderName,
  senderEmail: ADDRESS,
  subject: 'Hello',
  receivedAt: NOW,
  size: 100,
  code: undefined,
  preview: undefined,
  attachments: undefined,
})

function senderInList(senderName: string): string | undefined {
  const messages = [from(senderName)]
  const session = { address: 'ann@box.test', expiresAt: NOW, count: 1 } as Session
  const state = { isFull: false, refreshes: false, alreadyHasAddress: false }
  const { body } = inboxPage(SITE, { session, token: 't', messages, now: NOW, ...state })
  return /class="plain-sender"[^>]*><bdi>(.*?)<\/bdi>/.exec(String(body))?.[1]
}

function senderInMail(senderName: string): string {
  const content = { message: from(senderName), mail: EMPTY_MAIL, checks: undefined, token: 't' }
  const { body } = mailPage(SITE, content)
  return /<dt>From<\/dt><dd>([\s\S]*?)<\/dd>/.exec(String(body))?.[1] ?? ''
}

describe('without scripts', () => {
  for (const name of [
    'service@bank.test',
    'Help of bank.test team',
    'pay\u200b＠bank',
    'bank。com',
    'bank\uff61com',
  ]) {
    test(`the name ${name} is shown as a claim, not as the sender`, () => {
      assert.equal(senderInList(name), ADDRESS)
      assert.ok(senderInMail(name).startsWith(`<bdi>${ADDRESS}</bdi>`))
      assert.match(senderInMail(name), /uses the name “[^”]*bank/)
    })
  }

  for (const name of ['Ann Sender', 'Node.js Weekly', 'Müller GmbH and Co.KG']) {
    test(`${name} is shown as the sender, before the address`, () => {
      assert.equal(senderInList(name), name)
      assert.ok(senderInMail(name).startsWith(`<bdi>${name}</bdi> <span`))
      assert.ok(senderInMail(name).includes(ADDRESS))
      assert.ok(!senderInMail(name).includes('uses the name'))
    })
  }
})
