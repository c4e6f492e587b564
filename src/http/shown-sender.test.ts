import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { written } from '../../web/reader/sender.ts'
import type { Address } from '../core/address.ts'
import { EMPTY_MAIL, type Message } from '../core/message.ts'
import type { Session } from '../core/session.ts'
import { inboxPage } from './plain-inbox.ts'
import { mailPage } from './plain-mail.ts'
import { tongueOf } from './plain-tongue.ts'
import { shownSender } from './shown-sender.ts'
import { NO_BUILD } from './testing/plain.ts'

const EVIL = 'x@evil.test'
const SITE = { built: NO_BUILD, tongue: tongueOf('en'), abuse: '' }
const NOW = new Date('2026-03-01T12:00:00Z')

const from = (senderName: string): Message => ({
  id: 7,
  rawId: 1,
  recipient: 'ann@box.test' as Address,
  senderName,
  senderEmail: EVIL,
  subject: 'Hello',
  receivedAt: NOW,
  size: 100,
  code: undefined,
})

function listed(senderName: string): string | undefined {
  const messages = [from(senderName)]
  const session = { address: 'ann@box.test', expiresAt: NOW, count: 1 } as Session
  const marks = { full: false, looks: false, still: false }
  const { body } = inboxPage(SITE, { session, token: 't', messages, now: NOW, ...marks })
  return /class="plain-sender"[^>]*><bdi>(.*?)<\/bdi>/.exec(String(body))?.[1]
}

function shown(senderName: string): string {
  const letter = { message: from(senderName), mail: EMPTY_MAIL, checks: undefined, token: 't' }
  const { body } = mailPage(SITE, letter)
  return /<dt>From<\/dt><dd>([\s\S]*?)<\/dd>/.exec(String(body))?.[1] ?? ''
}

describe('without scripts', () => {
  for (const name of ['service@bank.test', 'Help of bank.test team', 'pay\u200b＠bank']) {
    test(`nobody passes for ${name} by calling himself so`, () => {
      assert.equal(listed(name), EVIL)
      assert.ok(shown(name).startsWith(`<bdi>${EVIL}</bdi>`))
      assert.match(shown(name), /The name given is “[^”]*bank/)
    })
  }

  test('a name that is only a name stands first', () => {
    assert.equal(listed('Ann Sender'), 'Ann Sender')
    assert.match(shown('Ann Sender'), /^<bdi>Ann Sender<\/bdi> .*x@evil\.test/)
    assert.ok(!shown('Ann Sender').includes('The name given'))
  })
})

describe('a sender is written here as the script of the page writes him', () => {
  for (const [name, address] of [
    ['Ann', 'ann@a.test'],
    ['', 'ann@a.test'],
    ['Ann', ''],
    ['', ''],
    ["'Ann@A.test'", 'ann@a.test'],
    ['Bank <pay@bank.test>', EVIL],
    ['pay (at) bank', EVIL],
    ['pay＠bank', EVIL],
    ['bank.test', EVIL],
    ['Help of bank.test team', EVIL],
    ['evil.test', 'x@mail.evil.test'],
    ['bücher.test', 'x@xn--bcher-kva.test'],
    ['bank.test', 'x@['],
    ['J. R. Smith Jr.', EVIL],
    ['A\u200bn\u202en', EVIL],
    ['\u200b\u3164', EVIL],
  ] as const) {
    test(`${name} <${address}>`, () => {
      assert.deepEqual(shownSender(name, address), written(name, address))
    })
  }
})
