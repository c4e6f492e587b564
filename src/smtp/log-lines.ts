import type { MailLogResult } from '../mail/log/rules.ts'
import type { Connection, ServerContext } from './connection.ts'
import type { About, State } from './state.ts'

// What an SMTP connection adds to the mail log.

/** A refused command, or an accepted mail. */
export function logReply(
  connection: Connection,
  reply: string,
  state: Readonly<State>,
  about: About,
): void {
  const { server, ip } = connection
  server.deps.mailLog.add({ ip }, resultOf(reply), () => ({
    ...transactionOf(state),
    ...about,
    reason: reply.startsWith('2') ? '' : reply.trimEnd(),
    ms: elapsedMs(connection, state),
  }))
}

/** A connection that gets no session. */
export function logRefusedConnection(server: ServerContext, ip: string, reply: string): void {
  server.deps.mailLog.add({ ip }, resultOf(reply), () => ({
    command: 'CONNECT',
    reason: reply.trimEnd(),
  }))
}

/** If the connection ended during DATA. */
export function logAborted(connection: Connection): void {
  const { server, ip, session, lastReply } = connection
  const state = session.state()
  if (!state.incoming) return
  server.deps.mailLog.add({ ip }, 'aborted', () => ({
    ...transactionOf(state),
    reason: lastReply === '' ? 'the client closed the connection' : lastReply.trimEnd(),
    ms: elapsedMs(connection, state),
  }))
}

function transactionOf({ command, helo, tls, sender, recipients }: Readonly<State>) {
  return {
    command,
    helo,
    tls,
    sender: sender?.path,
    size: sender?.size ?? 0,
    // Other commands are not about them.
    recipients: command === 'DATA' ? [...recipients.values()] : [],
  }
}

function resultOf(reply: string): MailLogResult {
  if (reply.startsWith('2')) return 'accepted'
  return reply.startsWith('4') ? 'deferred' : 'refused'
}

/** Of a mail since MAIL, of another command since it was received. */
function elapsedMs(
  { server, mailStartedAt, actionStartedAt }: Connection,
  { command }: Readonly<State>,
): number {
  const since = command === 'DATA' ? mailStartedAt : actionStartedAt
  return since === undefined ? 0 : server.clock() - since
}
