import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { connectSmtp, stuffed } from '../../test/kit/smtp/smtp-client.ts'
import type { Mayfly } from '../contestants/mayfly.ts'
import { acceptedAt, startData } from './intake.ts'
import { mailText } from './mail-text.ts'

/** Milliseconds per mail. */
export interface VisibilityTimes {
  /** From the last byte to the response of the waiting client. */
  visible: number[]
  /** From the last byte to the 250. */
  accepted: number[]
}

interface VisibilityOptions {
  /** The node that receives the mail. */
  sender: Mayfly
  /** The node that the client waits on. */
  client: Mayfly
  mails: number
  maxSeconds: number
  /** Between the request and the mail: long enough for the request to arrive and wait. */
  delayMs?: () => number
}

/** Sends mails of 4 KB sequentially, each awaited by a long-polling check-mail. */
export async function measureVisibility({
  sender,
  client,
  mails,
  maxSeconds,
  delayMs = () => 10,
}: VisibilityOptions): Promise<VisibilityTimes> {
  const { email, token } = await sender.session()
  const smtp = await connectSmtp(sender.smtpPort)
  const agent = new Agent({ keepAlive: true })
  const bytes = stuffed(mailText(4096))
  await smtp.command('EHLO sender.test')
  const times: VisibilityTimes = { visible: [], accepted: [] }
  const deadline = performance.now() + maxSeconds * 1000
  let sinceId = 0
  for (let sent = 0; sent < mails && performance.now() < deadline; sent += 1) {
    const path = `/api/check-mail?token=${token}&wait=30&since_id=${sinceId}`
    const listed = pollUntilListed(`${client.url}${path}`, agent)
    await startData(smtp, email)
    await pause(delayMs())
    const start = performance.now()
    smtp.write(bytes)
    const [{ at, newest }, replyAt] = await Promise.all([listed, acceptedAt(smtp)])
    times.visible.push(at - start)
    times.accepted.push(replyAt - start)
    sinceId = newest
  }
  smtp.close()
  agent.destroy()
  return times
}

/** The time of the complete response, and the newest id in it. */
function pollUntilListed(url: string, agent: Agent): Promise<{ at: number; newest: number }> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, async (response) => {
      const body = await text(response)
      const at = performance.now()
      const { messages } = JSON.parse(body) as { messages?: { id: number }[] }
      const newest = messages?.[0]?.id
      if (newest === undefined) reject(new Error(`no mail in the response: ${body}`))
      else resolve({ at, newest })
    }).on('error', reject)
  })
}
