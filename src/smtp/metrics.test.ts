import { expect, test } from 'vitest'
import { readMetrics } from '../base/metrics.ts'
import { openSmtpServer } from './server.ts'
import { dialogue } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

/** What was counted since these counts. Other tests run in the same process. */
function counts(since = new Map<string, number>()): Map<string, number> {
  const ours = readMetrics().filter(({ name }) => name.startsWith('mayfly_smtp_'))
  const all = ours.flatMap(({ name, values, type }) =>
    values.map(({ value, labels, metricName = name }) => {
      if (type === 'histogram' && !metricName.endsWith('_count')) return ['', 0] as const
      const label = `${metricName} ${Object.values(labels).join()}`
      return [label, value - (since.get(label) ?? 0)] as const
    }),
  )
  return new Map(all.filter(([, value]) => value !== 0))
}

test('connections, mails, bytes, rejected recipients, closed sessions and times are each counted once', async () => {
  const before = counts()
  const { deps } = recordingDeps()
  const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test' })
  await dialogue(server.port, [
    ['EHLO a.test', 250],
    ['MAIL FROM:<>', 250],
    ['RCPT TO:<nobody@box.test>', 550],
    ['RCPT TO:<u@foreign.test>', 550],
    ['RCPT TO:<ann@box.test>', 250],
    ['DATA', 354],
    ['12345\r\n.', 250],
    ['GET / HTTP/1.1', 500],
  ])
  await server.close()
  const expected = {
    'mayfly_smtp_connections_total greeted': 1,
    'mayfly_smtp_mails_total stored': 1,
    'mayfly_smtp_mail_bytes_total stored': 7,
    'mayfly_smtp_refused_recipients_total unknown': 1,
    'mayfly_smtp_refused_recipients_total foreign': 1,
    'mayfly_smtp_cut_sessions_total not_smtp': 1,
    'mayfly_smtp_command_seconds_count MAIL': 1,
    'mayfly_smtp_command_seconds_count RCPT': 3,
    'mayfly_smtp_command_seconds_count DATA': 1,
  }
  for (let reads = 0; reads < 2; reads += 1) {
    expect(Object.fromEntries(counts(before))).toStrictEqual(expected)
  }
})
