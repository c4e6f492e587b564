import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { connectSmtp, stuffed } from '../../test/support/smtp-client.ts'
import type { Mayfly } from '../contestants/mayfly.ts'
import { mailText } from './mail-text.ts'
import { figure, median, percentile } from './report.ts'

/** In milliseconds, of each mail. */
export interface VisibilityTimes {
  /** From the last byte to the reader. */
  visible: number[]
  /** From the last byte to the 250. */
  answered: number[]
  /** From the 250 to the reader; below zero when the reader was first. */
  after: number[]
}

export interface VisibilityOptions {
  /** Where the mail comes in, and where its reader waits. */
  sender: Mayfly
  reader: Mayfly
  turns: number
  mostSeconds: number
  /** Between the request and the mail: time enough for the request to arrive and wait. */
  restMs?: () => number
}

/** Sends mails of 4 KB one after the other, each with a check-mail that waits for it. */
export async function measureVisibility({
  sender,
  reader,
  turns,
  mostSeconds,
  restMs = () => 10,
}: VisibilityOptions): Promise<VisibilityTimes> {
  const { email, token } = await sender.session()
  const smtp = await connectSmtp(sender.smtpPort)
  const agent = new Agent({ keepAlive: true })
  const bytes = stuffed(mailText(4096).replaceAll('\n', '\r\n'))
  await smtp.command('EHLO sender.test')
  const times: VisibilityTimes = { visible: [], answered: [], after: [] }
  const latest = performance.now() + mostSeconds * 1000
  let sinceId = 0
  for (let turn = 0; turn < turns && performance.now() < latest; turn += 1) {
    const path = `/api/check-mail?token=${token}&wait=30&since_id=${sinceId}`
    const arrival = pollUntilListed(`${reader.url}${path}`, agent)
    for (const line of ['MAIL FROM:<ann@sender.test>', `RCPT TO:<${email}>`, 'DATA']) {
      const { code, text: reply } = await smtp.command(line)
      if (code !== 250 && code !== 354) throw new Error(`${line} was answered with ${reply}`)
    }
    await pause(restMs())
    const start = performance.now()
    smtp.write(bytes)
    const answer = smtp.readReply().then(({ code, text: reply }) => {
      if (code !== 250) throw new Error(`the mail was answered with ${reply}`)
      return performance.now()
    })
    const [{ at, newest }, answeredAt] = await Promise.all([arrival, answer])
    times.visible.push(at - start)
    times.answered.push(answeredAt - start)
    times.after.push(at - answeredAt)
    sinceId = newest
  }
  smtp.close()
  agent.destroy()
  return times
}

/** When the whole answer is there, and the newest id in it. */
function pollUntilListed(url: string, agent: Agent): Promise<{ at: number; newest: number }> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, async (response) => {
      const body = await text(response)
      const at = performance.now()
      const { messages } = JSON.parse(body) as { messages?: { id: number }[] }
      const newest = messages?.[0]?.id
      if (newest === undefined) reject(new Error(`no mail came: ${body}`))
      else resolve({ at, newest })
    }).on('error', reject)
  })
}

/** The middle and the 99th percentile, as two cells. */
export function p50AndP99(times: readonly number[]): string[] {
  return [figure(median(times)), figure(percentile(times, 0.99))]
}
