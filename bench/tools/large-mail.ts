import { randomBytes } from 'node:crypto'
import type { ClientRequest } from 'node:http'
import type { Mayfly } from '../contestants/mayfly.ts'
import { proxiedClient } from './proxied-client.ts'

const SENDERS = 12
const MAILS = 8
export const LARGE_MAILS = SENDERS * MAILS
// Just below the default of MAYFLY_MAX_MESSAGE.
const MAIL_BYTES = 10_000_000
const STALLED_DOWNLOADS = 4

/**
 * What takes the most memory: mails of the largest size, sent by many at once. Each is parsed, and downloaded by clients that do not
 * read on. Returns how often each status was returned.
 */
export async function sendLargeMail(mayfly: Mayfly): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
  const stalled: ClientRequest[] = []

  async function run(number: number): Promise<void> {
    const client = proxiedClient(`198.51.100.${number + 1}`, mayfly)
    const smtp = await client.smtp()
    const { email, token } = await client.session()
    for (let index = 0; index < MAILS; index += 1) {
      const raw = index % 2 === 0 ? attachmentMail() : htmlMail()
      count(`mail ${(await smtp.send({ to: [email], raw })).code}`)
      const { status, body } = await client.send('/api/check-mail', { token })
      count(`list ${status}`)
      const { messages = [] } = JSON.parse(String(body)) as { messages?: { id: number }[] }
      const id = messages[0]?.id
      count(`read ${(await client.send(`/api/read-mail?id=${id}`, { token })).status}`)
      for (let at = 0; at < STALLED_DOWNLOADS; at += 1) {
        const download = client.open(`/api/raw-mail?id=${id}`, { token })
        download.on('error', () => {})
        download.on('response', (response) => {
          count(`download ${response.statusCode}`)
          response.pause()
        })
        stalled.push(download.end())
      }
    }
    smtp.close()
  }

  await Promise.all(Array.from({ length: SENDERS }, (_, number) => run(number)))
  for (const download of stalled) download.destroy()
  return counts
}

function attachmentMail(): string {
  const lines = randomBytes((MAIL_BYTES * 3) / 4 - 300_000)
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n')
  return `Subject: large\r\nContent-Type: application/zip\r\nContent-Disposition: attachment; filename=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}\r\n`
}

function htmlMail(): string {
  const row = '<tr><td><b>one</b></td><td><a href="https://shop.test/1">two</a></td></tr>\r\n'
  return `Subject: large\r\nContent-Type: text/html\r\n\r\n<table>${row.repeat((MAIL_BYTES - 200) / row.length)}</table>\r\n`
}
