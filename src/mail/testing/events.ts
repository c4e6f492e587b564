import assert from 'node:assert/strict'
import type { MailEvent } from '../list/events.ts'

/** The next event after the opening of the stream. */
export async function nextEvent(events: AsyncGenerator<MailEvent>): Promise<MailEvent> {
  for (;;) {
    const { value } = await events.next()
    assert.ok(value)
    if (value.kind !== 'open') return value
  }
}
