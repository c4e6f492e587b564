import { OPERATOR } from '../core/session.ts'
import { stamp } from '../core/stamp.ts'
import type { OpenBox, Parsed } from '../service/read-mail.ts'
import type { Print } from './refused.ts'
import { mailLines } from './show-mail.ts'

/** What the store and the parser do for this command. */
export interface OperatorMail extends OpenBox {
  parsed: Parsed
  /** Resolves when it is time to look again. */
  pause(): Promise<void>
}

interface OperatorWish {
  /** Ends after so many mails. */
  count: number
  /** False: shows what is there and ends. */
  wait: boolean
}

/** `mayfly inbox --operator`: mail for postmaster and abuse, oldest first, then as it comes. */
export async function watchOperator(
  mail: OperatorMail,
  { count, wait }: OperatorWish,
  print: Print,
): Promise<void> {
  let shown = 0
  let sinceId = 0
  for (;;) {
    const page = await mail.listMessages(OPERATOR, { sinceId, limit: 10_000 })
    for (const { id } of page.toReversed()) {
      await printMessage(mail, id, print)
      shown += 1
      if (shown >= count) return
    }
    if (!wait) {
      if (shown === 0) print('No mail for postmaster or abuse.')
      return
    }
    sinceId = page[0]?.id ?? sinceId
    await mail.pause()
  }
}

async function printMessage(mail: OperatorMail, id: number, print: Print): Promise<void> {
  const message = await mail.findMessage(OPERATOR, id)
  if (!message) return
  const whole = await mail.parsed(message.rawId)
  const { receivedAt, senderName, senderEmail, recipient, subject } = message
  const text = whole?.text ?? ''
  const shown = { senderName, senderEmail, recipient, subject, text }
  for (const line of mailLines({ ...shown, receivedAt: stamp(receivedAt) })) print(line)
}
