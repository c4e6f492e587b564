import assert from 'node:assert/strict'
import { register } from 'prom-client'
import { test } from 'vitest'
import { openSmtpServer } from './server.ts'
import { dialogue } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

/** What was counted since these counts. Other tests run in the same process. */
async function counts(since = new Map<string, number>()): Promise<Map<string, number>> {
  const metrics = await register.getMetricsAsJSON()
  const ours = metrics.filter(({ name }) => name.startsWith('mayfly_smtp_'))
  const all = ours.flatMap(({ name, values }) =>
    values.map(({ value, labels }) => {
      const label = `${name} ${Object.values(labels).join()}`
      return [label, value - (since.get(label) ?? 0)] as const
    }),
  )
  return new Map(all.filter(([, value]) => value !== 0))
}

test('connections, mails, bytes, rejected recipients and closed sessions are each counted once', async () => {
  const before = await counts()
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
  }
  for (let reads = 0; reads < 2; reads += 1) {
    assert.deepEqual(Object.fromEntries(await counts(before)), expected)
  }
})
