import { setTimeout as pause } from 'node:timers/promises'
import { utcTimestamp } from '../../base/time.ts'
import type { CommandContext } from '../../cli/context.ts'
import {
  CommandError,
  formatMail,
  formatVolume,
  HOW_TO_EXIT,
  noPaint,
  type Paint,
  type Print,
} from '../../cli/output.ts'
import { openMailSandbox, openParser } from '../../mime/parser.ts'
import { deleteOperatorMail, type OperatorDeps, readOperatorMail } from '../operator.ts'
import { openLargeReads } from '../read/large-reads.ts'
import { openParseOnce, type ParseOnceDeps } from '../read/parse-once.ts'
import { openParsedMail, type ReadParsed } from '../read/parsed-mail.ts'
import type { MessageSource } from '../read/read-mail.ts'
import { OPERATOR } from '../rules/session.ts'
import type { MailStore } from '../store.ts'

export interface OperatorMail extends MessageSource {
  parsed: ReadParsed
  waitForNextPoll(): Promise<void>
}

type InboxStore = OperatorDeps['store'] &
  MessageSource &
  ParseOnceDeps['store'] &
  Pick<MailStore, 'readParsedJson'>

export type InboxContext = CommandContext<unknown, InboxStore>

export async function withOperatorMail(
  { withMail, openLog }: InboxContext,
  operation: (mail: OperatorMail) => Promise<void>,
): Promise<void> {
  const sandbox = openMailSandbox()
  const parser = openParser({ log: await openLog(), sandbox })
  try {
    await withMail(async (store) => {
      const parse = openParseOnce({ store, parser })
      const parsed = openParsedMail({ store, parse, largeReads: openLargeReads() })
      await operation({ ...store, parsed, waitForNextPoll: () => pause(1_000) })
    })
  } finally {
    parser.close()
    await sandbox.close()
  }
}

/** Mail to postmaster and abuse, oldest first: the first `count`, or all; with `wait` also those that arrive later. */
export async function watchOperator(
  mail: OperatorMail,
  { count, wait, paint = noPaint }: { count: number; wait: boolean; paint?: Paint },
  print: Print,
): Promise<void> {
  let shown = 0
  let sinceId = 0
  let isWaiting = false
  for (;;) {
    const page = await mail.listMessages(OPERATOR, { sinceId, limit: 10_000 })
    for (const { id } of page.toReversed()) {
      await printOperatorMail(mail, id, paint, print)
      shown += 1
      if (shown >= count) return
    }
    if (!wait) {
      if (shown === 0) print('No mail for postmaster or abuse.')
      return
    }
    sinceId = page[0]?.id ?? sinceId
    if (!isWaiting) print(`\nWaiting for mail to postmaster and abuse. ${HOW_TO_EXIT}`)
    isWaiting = true
    await mail.waitForNextPoll()
  }
}

async function printOperatorMail(
  mail: OperatorMail,
  id: number,
  paint: Paint,
  print: Print,
): Promise<void> {
  const found = await readOperatorMail({ store: mail, parsed: mail.parsed }, id)
  if (!found) return
  const { message } = found
  const receivedAt = utcTimestamp(message.receivedAt)
  const { text, codes, links, attachments } = found.mail
  const content = { text: text ?? '', codes, links, attachments }
  const lines = formatMail({ ...message, ...content, receivedAt }, paint)
  for (const line of lines) print(line)
}

export interface DeleteOptions {
  /** The id; true if the option has none. */
  delete?: string | true
  all?: boolean
}

/** Which messages `--delete` selects. */
export function parseSelection({ delete: id, all }: DeleteOptions): number | 'all' {
  if (all && id === true) return 'all'
  if (all) throw new CommandError('--all: use either --delete ID or --delete --all.', 2)
  if (id === true)
    throw new CommandError('--delete: requires a message id, or --all for all messages.', 2)
  if (id !== undefined && /^[1-9]\d{0,15}$/.test(id)) return Number(id)
  throw new CommandError(`--delete: ${JSON.stringify(id)} is not a message id.`, 2)
}

export async function deleteOperatorMessages(
  deps: OperatorDeps,
  selection: number | 'all',
  print: Print,
): Promise<void> {
  const deleted = await deleteOperatorMail(deps, selection)
  if (selection !== 'all' && deleted.messages === 0) {
    throw new CommandError(`No message for postmaster or abuse has the id ${selection}.`)
  }
  print(
    deleted.messages === 0
      ? 'No mail for postmaster or abuse.'
      : `Deleted ${formatVolume(deleted)} for postmaster and abuse.`,
  )
}
