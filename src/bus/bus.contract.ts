import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MailboxId } from '../mail/rules/session.ts'
import type { Bus } from './bus.ts'

const ANN = 101 as MailboxId
// Shares a slot of the waiter counts with ANN, and is polled at the same time.
const BOB = (101 + 655_360) as MailboxId

/** The contract of every bus. `open` returns two ends of one bus, as on two threads or nodes. */
export function busContract(open: () => Promise<[Bus, Bus]>): void {
  let here: Bus
  let there: Bus

  beforeEach(async () => {
    const ends = await open()
    here = ends[0]
    there = ends[1]
  })
  afterEach(async () => {
    await here.close()
    await there.close()
  })

  const woken = (bus: Bus, mailbox: MailboxId) =>
    new Promise<void>((resolve) => bus.subscribe(mailbox, resolve))

  test('subscribers of a mailbox are woken on both ends', async () => {
    const waiting = [woken(here, ANN), woken(here, ANN), woken(there, ANN)]
    here.wake(ANN)
    await Promise.all(waiting)
  })

  test('subscribers of another mailbox are not woken', async () => {
    let bobs = 0
    there.subscribe(BOB, () => {
      bobs += 1
    })
    // Until it is subscribed, a bus may call every subscriber.
    let quietRounds = 0
    for (let round = 0; round < 50 && quietRounds < 5; round += 1) {
      const before = bobs
      const anns = woken(there, ANN)
      here.wake(ANN)
      await anns
      quietRounds = bobs === before ? quietRounds + 1 : 0
    }
    expect(quietRounds).toBe(5)
  })

  test('an ended subscription is not called', async () => {
    let called = 0
    const unsubscribe = there.subscribe(ANN, () => {
      called += 1
    })
    unsubscribe()
    unsubscribe()
    const subscribed = woken(there, ANN)
    here.wake(ANN)
    await subscribed
    expect(called).toBe(0)
  })

  test('closing right after a wake is harmless', async () => {
    here.wake(ANN)
    await here.close()
    await new Promise(setImmediate)
  })

  test('many wakes in one turn reach all subscribers', async () => {
    const mailboxes = Array.from({ length: 1_000 }, (_, index) => (1_000 + index) as MailboxId)
    const waiting = mailboxes.map((mailbox) => woken(there, mailbox))
    for (const mailbox of mailboxes) here.wake(mailbox)
    await Promise.all(waiting)
  })
}
