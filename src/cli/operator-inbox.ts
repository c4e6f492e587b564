import { OPERATOR } from '../core/session.ts'
import { stamp } from '../core/time.ts'
import { deleteOperatorMail, type OperatorDeps } from '../service/background/operator.ts'
import type { Parsed } from '../service/mail/parsed-mail.ts'
import type { OpenBox } from '../service/mail/read-mail.ts'
import { type Print, Refused } from './refused.ts'
import { mailLines } from './show-mail.ts'
import { volumeShown } from './volume.ts'

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

export interface DeleteOptions {
  /** The id; true: the option without one. */
  delete?: string | true
  all?: boolean
}

/** `mayfly inbox --operator --delete`: which message is meant. */
export function chosenMessages({ delete: id, all }: DeleteOptions): number | 'all' {
  if (all && id === true) return 'all'
  if (all) throw new Refused('--all: give either --delete ID or --delete --all.', 2)
  if (id === true) {
    throw new Refused('--delete: give the id of a message, or --all for all of them.', 2)
  }
  if (id !== undefined && /^[1-9]\d{0,15}$/.test(id)) return Number(id)
  throw new Refused(`--delete: ${JSON.stringify(id)} is not the id of a message.`, 2)
}

/** `mayfly inbox --operator --delete ID` and `--delete --all` */
export async function deleteOperator(
  deps: OperatorDeps,
  which: number | 'all',
  print: Print,
): Promise<void> {
  const deleted = await deleteOperatorMail(deps, which)
  if (which !== 'all' && deleted.messages === 0) {
    throw new Refused(`No message for postmaster or abuse has the id ${which}.`)
  }
  print(
    deleted.messages === 0
      ? 'No mail for postmaster or abuse.'
      : `Deleted ${volumeShown(deleted)} for postmaster and abuse.`,
  )
}

async function printMessage(mail: OperatorMail, id: number, print: Print): Promise<void> {
  const message = await mail.findMessage(OPERATOR, id)
  if (!message) return
  const whole = await mail.parsed(message.rawId, {
    client: undefined,
    mailbox: message.recipient,
    size: message.size,
  })
  const { receivedAt, senderName, senderEmail, recipient, subject } = message
  const text = whole?.text ?? ''
  const shown = { id, senderName, senderEmail, recipient, subject, text }
  for (const line of mailLines({ ...shown, receivedAt: stamp(receivedAt) })) print(line)
}
