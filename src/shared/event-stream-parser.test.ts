import { describe, expect, test } from 'vitest'
import { eventStreamParser, type ServerSentEvent } from './event-stream-parser.ts'

const STREAM =
  'retry: 2000\nid: 7\n\nevent: message\nid: 9\ndata: {"subject":"žluť 木: b"}\n\n:\n\nevent: deleted\ndata: {"id":9}\n\n'
const EVENTS: ServerSentEvent[] = [
  { name: 'message', data: '{"subject":"žluť 木: b"}' },
  { name: 'deleted', data: '{"id":9}' },
]

function parse(...chunks: Uint8Array[]): ServerSentEvent[] {
  return chunks.flatMap(eventStreamParser())
}

describe('the result does not depend on where the stream is cut', () => {
  for (const [name, text] of [
    ['LF', STREAM],
    ['CRLF', STREAM.replaceAll('\n', '\r\n')],
    ['CR, once more has arrived', `${STREAM.replaceAll('\n', '\r')}:`],
    ['a byte order mark', `\uFEFF${STREAM}`],
  ] as const) {
    const bytes = Buffer.from(text)
    test(`${name}, cut in two at every byte`, () => {
      for (let at = 0; at <= bytes.length; at += 1) {
        expect(parse(bytes.subarray(0, at), bytes.subarray(at)), `cut at ${at}`).toEqual(EVENTS)
      }
    })
    test(`${name}, byte by byte`, () => {
      expect(parse(...[...bytes].map((byte) => Buffer.of(byte)))).toEqual(EVENTS)
    })
  }
})

describe('the format', () => {
  for (const [name, text, ...events] of [
    ['an event without a name is a message', 'data: x\n\n', ['message', 'x']],
    ['data lines are joined', 'data: a\ndata\ndata: b\n\n', ['message', 'a\n\nb']],
    ['colons and all but one space are kept', 'data:  a: b\n\n', ['message', ' a: b']],
    ['an event without data is dropped', 'event: end\n\n'],
    ['an incomplete event is dropped', 'data: 1\n\ndata: 2\n', ['message', '1']],
    ['a name applies to one event', 'event: a\ndata\n\ndata: y\n\n', ['a', ''], ['message', 'y']],
    [
      'ids, unknown fields and comments are ignored',
      ': beat\n\n: beat\nid: 1\nretry: 1\nfoo: 1\nbar\ndata:x\n\n',
      ['message', 'x'],
    ],
    [
      'a draining server says when to reconnect',
      'retry: 9\n\n:\n\n: shutting_down\nretry: 1500\n\n',
      ['shutting_down', '1500'],
    ],
  ] satisfies [string, string, ...[string, string][]][]) {
    test(name, () => {
      expect(parse(Buffer.from(text))).toEqual(events.map(([name, data]) => ({ name, data })))
    })
  }
})
