import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../base/address.ts'
import { openMailer } from '../base/mailer.ts'
import { readHeader, unfold } from '../mime/header-fields.ts'
import { withConnection } from './imap/account.ts'
import type { ImapConnection } from './imap/connection.ts'
import { listFolders, openFolder, specialFolders } from './imap/folders.ts'
import { fetchBody, fetchHeads } from './imap/message.ts'
import { DEFAULT_TIMING } from './imap/options.ts'
import { selectRecipients } from './imap/recipients.ts'
import type { AccountSetting } from './settings.ts'

/** Sends a mail to each alias and waits for it as for any mail of the account. */
export type AliasTrial = (email: Address, aliases: readonly Address[]) => Promise<Arrival[]>

export interface Arrival {
  alias: Address
  folder: string
  /** The header fields that contain the alias exactly. */
  headers: readonly string[]
}

const TIMEOUT_MS = 120_000
const POLL_MS = 3_000

/** Sends mails to aliases of an account and looks for them as the service does. Nothing is stored. */
export function openAliasTest({
  mailOut,
  gmailAccounts,
}: {
  mailOut: Parameters<typeof openMailer>[0]
  gmailAccounts: readonly AccountSetting[]
}): AliasTrial | undefined {
  if (mailOut.url === '') return undefined
  const send = openMailer(mailOut)
  return async (email, aliases) => {
    const account = gmailAccounts.find((one) => one.email === email)
    if (!account) throw new Error(`${email} is not in the accounts file`)
    const subject = `Mayfly test ${randomUUID()}`
    for (const to of aliases) await send({ to, subject, text: 'One of two test mails.' })
    return await withConnection(account, async (connection) => {
      const { spam } = specialFolders(await listFolders(connection))
      const folders = spam === undefined ? ['INBOX'] : ['INBOX', spam]
      const until = Date.now() + TIMEOUT_MS
      for (;;) {
        const arrived = await findArrivals(connection, folders, { email, aliases, subject })
        if (arrived.length === aliases.length || Date.now() >= until) return arrived
        await sleep(POLL_MS)
      }
    })
  }
}

interface Wanted {
  email: Address
  aliases: readonly Address[]
  subject: string
}

async function findArrivals(
  connection: ImapConnection,
  folders: readonly string[],
  { email, aliases, subject }: Wanted,
): Promise<Arrival[]> {
  const arrived = new Map<Address, Arrival>()
  const mailbox = { account: email, gmail: connection.isGmail }
  for (const folder of folders) {
    await openFolder(connection, folder, { write: false })
    const uids = await connection.search({ subject })
    for (const head of uids.length > 0 ? await fetchHeads(connection, uids) : []) {
      const raw = await fetchBody(connection, head, DEFAULT_TIMING.commandTimeoutMs)
      const isAlias = (address: Address) => aliases.includes(address)
      for (const alias of raw ? selectRecipients(head.candidates, isAlias, mailbox) : []) {
        arrived.set(alias, { alias, folder, headers: aliasHeaders(raw ?? Buffer.of(), alias) })
      }
    }
  }
  return [...arrived.values()]
}

const MATCHED_HEADERS = ['Delivered-To', 'X-Original-To', 'To', 'Cc', 'Received']

/** The header fields used for matching fetched mail that contain this exact address. */
export function aliasHeaders(raw: Uint8Array, alias: Address): string[] {
  const values = new Map<string, string>()
  for (const { key, value } of readHeader(raw).fields) {
    values.set(key, `${values.get(key) ?? ''} ${unfold(value).toLowerCase()}`)
  }
  // Not part of a longer address on either side.
  const whole = new RegExp(`(?<![^\\s<,:;"(])${RegExp.escape(alias)}(?![^\\s>,;")])`)
  return MATCHED_HEADERS.filter((name) => whole.test(values.get(name.toLowerCase()) ?? ''))
}
