import { createHash, randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { checkMail, rawMail } from '../http/api-client.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'

export interface LedgerLine {
  uuid: string
  sha256: string
  token: string
  /** A deletion that was answered with 200, or one that was only requested: then the mail may be there or not. */
  deletion?: 'requested' | 'done'
}

/** The mails that the service must have: an entry is written and synced only after its 250 was read. */
export function openLedger(path: string) {
  const file = openSync(path, 'a')
  return {
    write(line: LedgerLine): void {
      writeSync(file, `${JSON.stringify(line)}\n`)
      fsyncSync(file)
    },
    read: (): LedgerLine[] =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as LedgerLine),
    close: () => closeSync(file),
  }
}

/** In the counts of a campaign: mails of a ledger that were looked for. */
export const ACKNOWLEDGED = 'acknowledged mails'

export type Ledger = ReturnType<typeof openLedger>

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
  ledger: Pick<Ledger, 'write'>
  stopped(): boolean
  /** Called and awaited before a mail is sent, whatever its result. */
  beforeSend?(uuid: string, box: TestMailbox): Promise<void> | void
  /** Called and awaited after the reply; code 0 is a closed connection. */
  afterReply?(code: number, mail: { uuid: string; box: TestMailbox }): Promise<void> | void
}

/**
 * Sends over persistent connections, one mail after the other, until stopped; reconnects when the server is gone.
 * A mail without a reply is not in the ledger: it may have been stored or not.
 */
export async function sendUntilStopped(
  boxes: readonly TestMailbox[],
  { smtpPort, ledger, stopped, beforeSend, afterReply }: SenderOptions,
): Promise<void> {
  while (!stopped()) {
    const port = typeof smtpPort === 'number' ? smtpPort : smtpPort()
    const client = await connectSmtp(port).catch(() => undefined)
    for (let code = 250; client && code === 250 && !stopped(); ) {
      const box = boxes[Math.floor(Math.random() * boxes.length)]
      if (!box) throw new Error('no mailbox to send to')
      const { uuid, raw, sha256: hash } = uniqueMail(200 + Math.floor(Math.random() * 8_000))
      await beforeSend?.(uuid, box)
      code = (await client.send({ to: [box.email], raw })).code
      if (code === 250) ledger.write({ uuid, sha256: hash, token: box.token })
      await afterReply?.(code, { uuid, box })
    }
    client?.close()
    // A rejected sender retries after a pause.
    if (!stopped()) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/**
 * What is wrong with the acknowledged mails in these mailboxes: missing, changed or duplicated. A stored mail without an
 * entry in the ledger is fine: its 250 was lost with the process.
 */
export async function ledgerFaults(
  url: string,
  boxes: readonly { token: string }[],
  lines: readonly LedgerLine[],
): Promise<string[]> {
  const found = await Promise.all(
    boxes.map(({ token }) =>
      mailboxFaults(
        url,
        token,
        lines.filter((line) => line.token === token),
      ),
    ),
  )
  return found.flat()
}

async function mailboxFaults(
  url: string,
  token: string,
  lines: readonly LedgerLine[],
): Promise<string[]> {
  return compareMailbox(lines, await storedHashes(url, token))
}

const IS_MISSING = ' is missing'

/** The only fault that a control may have. */
export function isLoss(fault: string): boolean {
  return fault.endsWith(IS_MISSING)
}

/** The mails by their subject, which is the UUID. */
export function compareMailbox(
  lines: readonly LedgerLine[],
  stored: ReadonlyMap<string, readonly string[]>,
): string[] {
  return lines.flatMap(({ uuid, sha256: hash, deletion }) => {
    const [first, second] = stored.get(uuid) ?? []
    if (!first) return deletion ? [] : [`${uuid}${IS_MISSING}`]
    if (deletion === 'done') return [`${uuid} is back although its deletion was answered with 200`]
    if (second) return [`${uuid} is there twice`]
    return first === hash ? [] : [`${uuid} is changed`]
  })
}

const PAGE = 500

/** The hashes of the stored mails by subject. A list has only the newest mails, so those are deleted to get the next ones. */
async function storedHashes(url: string, token: string): Promise<Map<string, string[]>> {
  const hashes = new Map<string, string[]>()
  for (;;) {
    const page = await checkMail(url, token, `&limit=${PAGE}`)
    for (const { id, subject } of page) {
      const hash = sha256(await rawMail(url, token, id))
      hashes.set(subject, [...(hashes.get(subject) ?? []), hash])
    }
    if (page.length < PAGE) return hashes
    const body = new URLSearchParams({ token, ids: page.map(({ id }) => id).join(',') })
    const response = await fetch(`${url}/api/delete-mail`, { method: 'POST', body })
    if (response.status !== 200) throw new Error(await response.text())
  }
}
