import { describe, expect, test } from 'vitest'
import { eventStream, type StreamEvent } from './event-stream.ts'

async function read(...chunks: Uint8Array[]): Promise<StreamEvent[]> {
  async function* bytes() {
    yield* chunks
  }
  return await Array.fromAsync(eventStream(bytes()))
}

describe('a stream of events', () => {
  for (const [name, text, events] of [
    ['names its events', 'event: end\ndata: {}\n\n', [{ name: 'end', content: '{}' }]],
    ['calls an event without a name message', 'data: 1\n\n', [{ name: 'message', content: '1' }]],
    [
      'joins the lines of one event',
      'data: a\ndata: b\n\n',
      [{ name: 'message', content: 'a\nb' }],
    ],
    ['leaves comments out', ': beat\n\ndata: 1\n\n', [{ name: 'message', content: '1' }]],
    ['knows no event without content', 'event: x\n\n', []],
    [
      'forgets an event that was cut off',
      'data: 1\n\ndata: 2\n',
      [{ name: 'message', content: '1' }],
    ],
    ['takes CRLF as well', 'event: x\r\ndata: 1\r\n\r\n', [{ name: 'x', content: '1' }]],
    ['keeps colons and one space', 'data:  a: b\n\n', [{ name: 'message', content: ' a: b' }]],
    [
      'does not mind other fields',
      'id: 7\nretry: 1\nfoo\ndata:1\n\n',
      [{ name: 'message', content: '1' }],
    ],
  ] as const) {
    test(name, async () => expect(await read(Buffer.from(text))).toEqual(events))
  }

  test('is the same however it is cut', async () => {
    const whole = Buffer.from(
      'id: 1\nevent: message\ndata: {"a":"žluťoučký 木"}\n\n: beat\n\ndata: 2\n\n',
    )
    const expected = await read(whole)
    expect(expected).toHaveLength(2)
    for (let cut = 0; cut <= whole.length; cut += 1) {
      expect(await read(whole.subarray(0, cut), whole.subarray(cut))).toEqual(expected)
    }
  })
})
