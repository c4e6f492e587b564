import { Counter } from 'prom-client'

export const connectionCounts = labelledCounter(
  'mayfly_smtp_connections_total',
  'SMTP connections, by result of accepting them',
  'start',
)

export const mails = labelledCounter(
  'mayfly_smtp_mails_total',
  'Mails received up to the final dot, by outcome',
  'outcome',
)

export const mailBytes = labelledCounter(
  'mayfly_smtp_mail_bytes_total',
  'Bytes of mails received up to the final dot, by outcome',
  'outcome',
)

export const refusedRecipients = labelledCounter(
  'mayfly_smtp_refused_recipients_total',
  'Rejected RCPT commands, by reason',
  'reason',
)

export const closedSessions = labelledCounter(
  'mayfly_smtp_cut_sessions_total',
  'SMTP sessions closed by the server, by reason',
  'reason',
)

// Plain numbers, copied when the metrics are collected: prom-client takes several microseconds to hash the labels.
// Each thread has its own registry; /metrics adds them up.
function labelledCounter(name: string, help: string, label: string) {
  const counts = new Map<string, number>()
  new Counter({
    name,
    help,
    labelNames: [label],
    collect() {
      this.reset()
      for (const [value, count] of counts) this.inc({ [label]: value }, count)
    },
  })
  return {
    add(value: string, by = 1): void {
      counts.set(value, (counts.get(value) ?? 0) + by)
    },
  }
}
