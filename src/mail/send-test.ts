import { type Address, hostOf } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { takeRate } from '../http/server/rates.ts'
import { liveSession } from './sessions/session.ts'
import type { MailStore } from './store.ts'

/**
 * Sends a mail through our own SMTP server, once `onGreeting` has resolved. Returns its reply to the mail, or to the command
 * that it refused. Throws `overloaded` if the server cannot be reached.
 */
export type SendLocalMail = (
  mail: { from: string; to: Address; raw: string },
  onGreeting: () => Promise<void>,
) => Promise<{ code: number; status: string }>

interface SendTestDeps extends Pick<ServerDeps, 'limit' | 'now' | 'randomBytes'> {
  store: MailStore
  sendLocalMail: SendLocalMail
}

/** Sends a mail with a code to the session's address, from our postmaster. */
export async function sendTestMail(
  deps: SendTestDeps,
  { token, client }: { token: string; client: string | undefined },
): Promise<void> {
  const { id, address, accountId } = await liveSession(deps, token)
  if (accountId !== undefined) {
    throw new Problem('not_allowed', 'Test mail cannot be sent to a Gmail alias.')
  }
  if (client !== undefined) await takeRate(deps, 'sendTestFromClient', client)
  const from = `postmaster@${hostOf(address)}`
  const mail = { from, to: address, raw: testMail(deps, from, address) }
  const { code, status } = await deps.sendLocalMail(mail, async () => {
    if (client !== undefined) await takeRate(deps, 'sendTest', String(id))
  })
  if (code === 250) return
  const refusal = REFUSALS[status]
  throw refusal === undefined
    ? new Problem('overloaded', 'The test mail was not accepted. Try again in a moment.', 1)
    : new Problem('not_allowed', refusal)
}

const REFUSALS: Record<string, string> = {
  '5.2.1': 'The address is no longer accepting messages.',
  // By the rules of the address, or by the block list of the operator.
  '5.7.1': 'The address does not accept mail from the sender of test mails.',
}

const CODES = 1_000_000

function testMail(
  { now, randomBytes }: Pick<SendTestDeps, 'now' | 'randomBytes'>,
  from: string,
  to: Address,
): string {
  const random = Buffer.from(randomBytes(16))
  const code = String(random.readUInt32BE() % CODES).padStart(6, '0')
  const lines = [
    `From: Mayfly <${from}>`,
    `To: <${to}>`,
    'Subject: Test message',
    `Date: ${now().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${random.toString('hex')}@${hostOf(to)}>`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    `Your verification code is ${code}.`,
    '',
    'It works: this address receives mail.',
    '',
  ]
  return lines.join('\r\n')
}
