import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { eventReader, type StreamEvent } from './event-stream.ts'

const OURS =
  'retry: 2000\nid: 7\n\nevent: message\nid: 9\ndata: {"subject":"a: b"}\n\n:\n\nevent: deleted\ndata: {"id":9}\n\n'
const READ: StreamEvent[] = [
  { kind: 'message', text: '{"subject":"a: b"}' },
  { kind: 'deleted', text: '{"id":9}' },
]

function read(pieces: string[]): StreamEvent[] {
  const take = eventReader()
  return pieces.flatMap((piece) => take(piece))
}

describe('a stream is the same however it is cut', () => {
  for (const [name, text] of [
    ['with LF', OURS],
    ['with CRLF', OURS.replaceAll('\n', '\r\n')],
    ['with CR, once more has come', `${OURS.replaceAll('\n', '\r')}:`],
    ['with a byte order mark', `\uFEFF${OURS}`],
  ] as const) {
    test(`${name}, in two pieces at every place`, () => {
      for (let at = 0; at <= text.length; at += 1) {
        assert.deepEqual(read([text.slice(0, at), text.slice(at)]), READ, `cut at ${at}`)
      }
    })
    test(`${name}, character by character`, () => assert.deepEqual(read([...text]), READ))
  }
})

describe('by the rules of the format', () => {
  for (const [name, text, events] of [
    ['an event without a name is a message', 'data: x\n\n', [['message', 'x']]],
    ['lines of text are joined', 'data: a\ndata\ndata: b\n\n', [['message', 'a\n\nb']]],
    [
      'a server that stops says when to come back',
      'retry: 9\n\n:\n\n: shutting_down\nretry: 1500\n\n',
      [['goodbye', '1500']],
    ],
    ['only one space is taken off', 'data:  a\n\n', [['message', ' a']]],
    ['no text, no event', 'event: end\n\n', []],
    ['an event that was cut off is none', 'data: x\n', []],
    [
      'a name is of one event only',
      'event: a\ndata\n\ndata: y\n\n',
      [
        ['a', ''],
        ['message', 'y'],
      ],
    ],
    [
      'ids, unknown fields and comments are nothing',
      ': beat\nid: 1\nfoo: 1\nbar\ndata: x\n\n',
      [['message', 'x']],
    ],
  ] as const) {
    test(name, () => {
      const expected = events.map(([kind, text]) => ({ kind, text }))
      assert.deepEqual(read([text]), expected)
    })
  }
})
