import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { needed } from './programs.ts'

const run = promisify(execFile)

export interface Sending {
  port: number
  to: string
  mails: number
  senders: number
  /** Sends the next mail on the same connection. */
  kept: boolean
  /** Header and body as they stand in the file. */
  file: string
}

/** Mails a second as Postfix's smtp-source sees them. Anything but a positive reply fails. */
export async function sendMails(sending: Sending, signal?: AbortSignal): Promise<number> {
  const { port, to, mails, senders, kept, file } = sending
  const args = [
    ...(kept ? ['-d'] : []),
    ...['-s', String(senders), '-m', String(mails), '-F', file, '-C', '10'],
    ...['-M', 'sender.test', '-f', 'ann@sender.test', '-t', to, `inet:127.0.0.1:${port}`],
  ]
  const start = performance.now()
  await run(needed('smtp-source', 'postfix'), args, signal ? { signal } : {})
  return mails / ((performance.now() - start) / 1000)
}

/** As many mails as take that long at that rate, in whole rounds of all senders. */
export function mailsFor(seconds: number, rate: number, senders: number): number {
  return Math.max(2, Math.ceil((seconds * rate) / senders)) * senders
}
