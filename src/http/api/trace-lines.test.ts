import assert from 'node:assert/strict'
import { test } from 'vitest'
import { parseAddress } from '../../core/address.ts'
import { traceLines } from './trace-lines.ts'

const recipient = parseAddress('ann@box.test')
assert.ok(recipient)
const receivedAt = new Date('2026-03-01T02:03:04Z')
const message = {
  id: 36,
  rawId: 1,
  recipient,
  size: 1,
  senderName: '',
  senderEmail: '',
  subject: '',
  receivedAt,
  code: undefined,
}
const raw = {
  bytes: new Uint8Array(),
  receivedAt,
  clientIp: '192.0.2.1',
  helo: 'sender.test',
  mailFrom: 'bob@sender.test',
  tls: undefined as string | undefined,
  protocol: 'ESMTP',
}

test('an ordinary mail', () => {
  assert.equal(
    traceLines(message, raw, 'mx.box.test'),
    [
      'Return-Path: <bob@sender.test>',
      'Delivered-To: ann@box.test',
      'Received: from sender.test ([192.0.2.1])',
      '\tby mx.box.test with ESMTP',
      '\tid 10 for <ann@box.test>; Sun, 01 Mar 2026 02:03:04 +0000',
      '',
    ].join('\r\n'),
  )
})

test('IPv6, TLS and no sender', () => {
  const lines = traceLines(
    message,
    {
      ...raw,
      clientIp: '2001:db8::1',
      tls: 'TLSv1.3 TLS_AES_256_GCM_SHA384',
      mailFrom: '',
      protocol: 'ESMTPS',
    },
    'mx.box.test',
  )
  assert.match(lines, /^Return-Path: <>\r\n/)
  assert.match(lines, /\(\[IPv6:2001:db8::1\]\)\r\n/)
  assert.match(lines, /with ESMTPS \(TLSv1\.3 TLS_AES_256_GCM_SHA384\)\r\n/)
})

test('mail that was fetched from an account: nobody spoke to us, and its Return-Path is its own', () => {
  const fetched = { ...raw, clientIp: '', helo: '', protocol: 'IMAP' }
  assert.equal(
    traceLines(message, fetched, 'mx.box.test'),
    [
      'Delivered-To: ann@box.test',
      'Received: by mx.box.test with IMAP',
      '\t(fetched from a mail account, which took it at this time)',
      '\tid 10 for <ann@box.test>; Sun, 01 Mar 2026 02:03:04 +0000',
      '',
    ].join('\r\n'),
  )
})

test('a sender with letters of any script stays who it is', () => {
  const mailFrom = 'jörg@bücher.test'
  const lines = traceLines(message, { ...raw, mailFrom, helo: 'bücher.test' }, 'mx.box.test')
  assert.match(lines, /^Return-Path: <jörg@bücher\.test>\r\n/)
  assert.match(lines, /^Received: from b\?cher\.test /m)
})

test('a sender that is cut is still whole letters', () => {
  const lines = traceLines(message, { ...raw, mailFrom: `x${'😀'.repeat(200)}` }, 'mx.box.test')
  assert.ok(lines.isWellFormed())
})

for (const evil of [
  'a\r\nX-Forged: 1',
  'a\nb',
  'a)\r\n\r\nbody',
  'a\0b',
  'a\u2028b',
  '> (',
  'x'.repeat(5_000),
  '',
]) {
  test(`a client that calls itself ${JSON.stringify(evil.slice(0, 20))} cannot add a line`, () => {
    const lines = traceLines(
      message,
      { ...raw, helo: evil, mailFrom: evil, tls: evil, protocol: evil },
      evil,
    )
    const rows = lines.split('\r\n')
    assert.equal(rows.length, 6)
    assert.doesNotMatch(rows.join(''), /[\r\n\0]/)
    assert.match(lines, /^Return-Path: <[^<>\r\n]*>\r\nDelivered-To: /)
    assert.ok(lines.length < 2_000)
  })
}
