import { createHash, randomUUID } from 'node:crypto'
import { checkMail, rawMail } from '../http/api-client.ts'
import { connectSmtp, type SmtpClient } from '../smtp/smtp-client.ts'

/** A mail that was sent to a mailbox. */
export interface LedgerLine {
  uuid: string
  sha256: string
  token: string
  /** Its 250 was read: the service must have it. Without one, it may have been stored or not. */
  isAcknowledged: boolean
  /** A deletion that was answered with 200, or one that was only requested: then the mail may be there or not. */
  deletion?: 'requested' | 'done'
}

/** In the counts of a campaign: mails of a ledger that were looked for. */
export const ACKNOWLEDGED = 'acknowledged mails'

/** Mails with several recipients, if there may be any. */
const SHARED = 0.2

/** In the subject and the body of each such mail, and so in no log. */
export const MAIL_MARK = 'text-of-a-mail-'

/** A mail with unique bytes. */
export function uniqueMail(bodyBytes: number): { uuid: string; raw: Buffer; sha256: string } {
  const uuid = `${MAIL_MARK}${randomUUID()}`
  const line = `${uuid} `.repeat(Math.ceil(bodyBytes / uuid.length)).slice(0, bodyBytes)
  const body = line.replace(/(.{76})/g, '$1\r\n')
  const raw = Buffer.from(`From: <s@sender.test>\r\nSubject: ${uuid}\r\n\r\n${body}\r\n`)
  return { uuid, raw, sha256: sha256(raw) }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export interface TestMailbox {
  email: string
  token: string
}

interface SenderOptions {
  /** A function if there are several: it is called for each connection. */
  smtpPort: number | (() => number)
  /** Every mail is added before it is sent. */
  ledger: LedgerLine[]
  stopped(): boolean
  /** Of every fifth mail, so many; of the others, one. */
  maxRecipients?: number
  /** Called and awaited before a mail is sent, whatever its result. */
  beforeSend?(uuid: string, box: TestMailbox): Promise<void> | void
  /** Called and awaited after the reply; code 0 is a closed connection. */
  afterReply?(code: number, mail: { uuid: string; box: TestMailbox }): Promise<void> | void
}

/** Sends over persistent connections, one mail after the other, until stopped; reconnects when the server is gone. */
export async function sendUntilStopped(
  boxes: readonly TestMailbox[],
  options: SenderOptions,
): Promise<void> {
  const { smtpPort, stopped } = options
  while (!stopped()) {
    const port = typeof smtpPort === 'number' ? smtpPort : smtpPort()
    const client = await connectSmtp(port).catch(() => undefined)
    for (let code = 250; client && code === 250 && !stopped(); )
      code = await sendUnique(client, boxes, options)
    client?.close()
    // A rejected sender retries after a pause.
    if (!stopped()) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Returns the code of the reply. */
async function sendUnique(
  client: SmtpClient,
  boxes: readonly TestMailbox[],
  { ledger, maxRecipients = 1, beforeSend, afterReply }: SenderOptions,
): Promise<number> {
  const recipients = pickRecipients(boxes, maxRecipients)
  const [box] = recipients
  if (!box) throw new Error('no mailbox to send to')
  const { uuid, raw, sha256: hash } = uniqueMail(200 + Math.floor(Math.random() * 8_000))
  const lines = recipients.map(({ token }) => {
    return { uuid, sha256: hash, token, isAcknowledged: false }
  })
  ledger.push(...lines)
  await beforeSend?.(uuid, box)
  const { code, accepted } = await client.send({ to: recipients.map(({ email }) => email), raw })
  for (const [at, line] of lines.entries())
    line.isAcknowledged = code === 250 && accepted.includes(recipients[at]?.email ?? '')
  await afterReply?.(code, { uuid, box })
  return code
}

function pickRecipients(boxes: readonly TestMailbox[], most: number): readonly TestMailbox[] {
  const first = Math.floor(Math.random() * boxes.length)
  return boxes.slice(first, first + (Math.random() < SHARED ? most : 1))
}

/**
 * What is wrong with the mails in these mailboxes: missing, changed, doubled, or not sent to them. Without `contents`, only the lists
 * are compared.
 */
export async function ledgerFaults(
  url: string,
  boxes: readonly { token: string }[],
  lines: readonly LedgerLine[],
  { contents = true } = {},
): Promise<string[]> {
  const found = await Promise.all(
    boxes.map(async ({ token }) => {
      const own = lines.filter((line) => line.token === token)
      return compareMailbox(own, await storedMails(url, token, { contents }))
    }),
  )
  return found.flat()
}

const IS_MISSING = ' is missing'

/** The only fault that a control may have. */
export function isLoss(fault: string): boolean {
  return fault.endsWith(IS_MISSING)
}

/** By subject, which is the UUID: the hashes of all mails with it, or `undefined` for each if only a list was read. */
type StoredMails = ReadonlyMap<string, readonly (string | undefined)[]>

/** `lines`: all that were sent to the mailbox. */
export function compareMailbox(lines: readonly LedgerLine[], stored: StoredMails): string[] {
  const sent = new Map(lines.map((line) => [line.uuid, line]))
  const missing = lines.filter(
    ({ uuid, isAcknowledged, deletion }) => isAcknowledged && !deletion && !stored.has(uuid),
  )
  const wrong = [...stored].flatMap(([uuid, copies]) => {
    const line = sent.get(uuid)
    if (!line) return [`${uuid} is in a mailbox that it was not sent to`]
    if (copies.length > 1) return [`${uuid} is there twice`]
    if (line.deletion === 'done')
      return [`${uuid} is back although its deletion was answered with 200`]
    const isChanged = copies.some((copy) => copy !== undefined && copy !== line.sha256)
    return isChanged ? [`${uuid} is changed`] : []
  })
  return [...missing.map(({ uuid }) => `${uuid}${IS_MISSING}`), ...wrong]
}

const PAGE = 500
/** The share of mails whose parsed form is compared. */
const PARSED = 0.1
// In the subject and the text.
const MARKS = new RegExp(`${MAIL_MARK}[\\da-f-]{36}`, 'g')

/** A list has only the newest mails, so those are deleted to get the next ones, unless only the list is wanted. */
async function storedMails(
  url: string,
  token: string,
  { contents }: { contents: boolean },
): Promise<StoredMails> {
  const mails = new Map<string, (string | undefined)[]>()
  for (;;) {
    const page = await checkMail(url, token, `&limit=${PAGE}`)
    for (const { id, subject } of page) {
      const hash = contents ? await hashOf(url, token, { id, uuid: subject }) : undefined
      mails.set(subject, [...(mails.get(subject) ?? []), hash])
    }
    if (page.length < PAGE) return mails
    if (!contents) throw new Error(`${PAGE} mails or more: they must be deleted to see all`)
    const body = new URLSearchParams({ token, ids: page.map(({ id }) => id).join(',') })
    const response = await fetch(`${url}/api/delete-mail`, { method: 'POST', body })
    if (response.status !== 200) throw new Error(await response.text())
  }
}

/** Of the raw mail. A parsed mail must have the text of the same one: one in ten is read, which takes longer. */
async function hashOf(
  url: string,
  token: string,
  { id, uuid }: { id: number; uuid: string },
): Promise<string> {
  if (Math.random() < PARSED) {
    const text = await (await fetch(`${url}/api/read-mail?token=${token}&id=${id}`)).text()
    const marks = text.match(MARKS) ?? []
    if (marks.length < 2 || marks.some((mark) => mark !== uuid)) return `read as ${marks}`
  }
  return sha256(await rawMail(url, token, id))
}
