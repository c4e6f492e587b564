import { describe, expect, test } from 'vitest'
import type { Address } from '../../../base/address.ts'
import type { Message } from '../../../mail/rules/message.ts'
import type { Session } from '../../../mail/rules/session.ts'
import { EMPTY_MAIL } from '../../../shared/mail.ts'
import { ENGLISH_SITE } from '../testing/no-script-client.ts'
import { inboxPage } from './inbox.ts'
import { mailPage } from './mail.ts'

const ADDRESS = 'x@evil.test'
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
  links: undefined,
})

function senderInList(senderName: string): string | undefined {
  const messages = [from(senderName)]
  const session = { address: 'ann@box.test', expiresAt: NOW, count: 1 } as Session
  const state = { isFull: false, refreshes: false, alreadyHasAddress: false }
  const { body } = inboxPage(ENGLISH_SITE, { session, token: 't', messages, now: NOW, ...state })
  return /class="plain-sender"[^>]*><bdi>(.*?)<\/bdi>/.exec(String(body))?.[1]
}

function senderInMail(senderName: string): string {
  const content = { message: from(senderName), mail: EMPTY_MAIL, checks: undefined, token: 't' }
  const { body } = mailPage(ENGLISH_SITE, content)
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
      expect(senderInList(name)).toBe(ADDRESS)
      expect(senderInMail(name).startsWith(`<bdi>${ADDRESS}</bdi>`)).toBeTruthy()
      expect(senderInMail(name)).toMatch(/uses the name “[^”]*bank/)
    })
  }

  for (const name of ['Ann Sender', 'Node.js Weekly', 'Müller GmbH and Co.KG']) {
    test(`${name} is shown as the sender, before the address`, () => {
      expect(senderInList(name)).toBe(name)
      expect(senderInMail(name).startsWith(`<bdi>${name}</bdi> <span`)).toBeTruthy()
      expect(senderInMail(name)).toContain(ADDRESS)
      expect(senderInMail(name)).not.toContain('uses the name')
    })
  }
})
