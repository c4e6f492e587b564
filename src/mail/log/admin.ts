import { Type } from 'typebox'
import { DEFAULT_LIMIT, nextField, pageFields, parseCursor } from '../../http/server/admin-list.ts'
import { adminRoute } from '../../http/server/admin-route.ts'
import type { ServerDeps } from '../../http/server/deps.ts'
import { success } from '../../http/server/response.ts'
import {
  countField,
  enumField,
  named,
  successSchema,
  timeFields,
} from '../../http/server/schemas.ts'
import { findLines, lineJson, parseLineQuery } from './find-lines.ts'
import { MAIL_LOG_MODES, MAIL_LOG_RESULTS, type MailLogMode } from './rules.ts'
import type { MailLogStore } from './store.ts'

export interface MailLogRouteDeps extends ServerDeps {
  store: MailLogStore
  mailLogKey: Uint8Array
  config: { mailLog: { mode: MailLogMode } }
}

const text = (description: string, example = '') =>
  Type.String({ description, examples: example === '' ? [] : [example] })

const lineSchema = named('MailLogLine', {
  number: Type.Integer({ description: 'Rises in the order of writing.', examples: [42] }),
  ...timeFields('logged_at'),
  result: enumField(MAIL_LOG_RESULTS),
  reason: text('The reply, or why a mail stays in its account.', '550 5.1.1 No such mailbox'),
  command: text('An SMTP command, CONNECT, or FETCH for mail of a Gmail account.', 'RCPT'),
  id: text('Our id of the mail, as in the reply.', 'mi3t6c2v0k9x'),
  client_ip: text('Empty for mail of a Gmail account.', '192.0.2.1'),
  account: text('The Gmail account that it was fetched from.'),
  helo: text('What the client calls itself.', 'mx.sender.example'),
  sender: text(
    'The domain of MAIL FROM, or with `full` the address; `<>` for a bounce.',
    'sender.example',
  ),
  recipients: text('Separated by commas, and masked unless the log is `full`.', 'l…n@box.example'),
  size: countField(4_000),
  tls: text('Version and cipher; empty without TLS.'),
  ms: countField(12),
  count: Type.Integer({
    description: 'More than 1: so many lines of this client were only counted.',
    examples: [1],
  }),
})

const optional = (description: string) => Type.Optional(Type.String({ description }))

export const mailLogRoutes = [
  adminRoute({
    method: 'GET',
    path: '/mail-log',
    title: 'Mail log',
    description: 'Mails and refused commands of the last days, newest first.',
    input: Type.Object({
      to: optional('Only recipients with this whole address, or at this domain.'),
      from: optional('Only senders with this whole address, or at this domain.'),
      ip: optional('Only this client.'),
      result: optional(`One of ${MAIL_LOG_RESULTS.join(', ')}.`),
      id: optional('Only the mail with this id.'),
      ...pageFields,
    }),
    output: successSchema({
      lines: Type.Array(lineSchema),
      mode: enumField(MAIL_LOG_MODES),
      next: nextField,
    }),
    async handle({ before, limit = DEFAULT_LIMIT, ...query }, deps: MailLogRouteDeps) {
      const filter = parseLineQuery(query, deps.mailLogKey)
      const page = { before: parseCursor(before)?.rank, limit }
      const { lines, next } = await findLines(deps.store, filter, page)
      const { mode } = deps.config.mailLog
      return success({ lines: lines.map(lineJson), mode, next: next?.toString() ?? null })
    },
  }),
]
