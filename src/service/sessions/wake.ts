import type { Bus } from '../../bus/bus.ts'
import { readerTopic, type Session } from '../../core/session.ts'

/** Wakes whoever waits for news of a session: with its token, or with the key that it was made with. */
export function wakeSession(
  bus: Pick<Bus, 'wake'>,
  { id, keyId }: Pick<Session, 'id' | 'keyId'>,
): void {
  bus.wake(id)
  if (keyId !== undefined) bus.wake(readerTopic('key', keyId))
}
