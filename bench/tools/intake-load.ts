import { setTimeout as pause } from 'node:timers/promises'
import type { Mayfly } from '../contestants/mayfly.ts'
import { sendMails } from './smtp-source.ts'

export interface Sending {
  file: string
  kept: boolean
  senders: number
}

/** Does the work while mail comes in at full speed; also says how many mails a second were kept meanwhile. */
export async function whileSending<R>(
  mayfly: Mayfly,
  sending: Sending,
  work: () => Promise<R>,
): Promise<{ mails: number; result: R }> {
  const { email } = await mayfly.session()
  const end = new AbortController()
  const sent = sendMails(
    { ...sending, port: mayfly.smtpPort, to: email, mails: 1_000_000 },
    end.signal,
  ).catch((error: unknown) => {
    if (!end.signal.aborted) throw error
  })
  await pause(300)
  const before = { mails: await keptMails(mayfly), at: performance.now() }
  const result = await Promise.race([work(), sent.then(() => failed())])
  const after = { mails: await keptMails(mayfly), at: performance.now() }
  end.abort()
  await sent
  return { mails: ((after.mails - before.mails) / (after.at - before.at)) * 1000, result }
}

function failed(): never {
  throw new Error('smtp-source ended before the work did')
}

/** By the service's own count. */
async function keptMails({ url }: Mayfly): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const count = /^mayfly_smtp_mails_total\{outcome="kept"\} (\d+)/m.exec(text)?.[1]
  if (count === undefined) throw new Error(`/metrics does not count mails:\n${text.slice(0, 500)}`)
  return Number(count)
}
