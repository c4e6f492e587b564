import { Counter } from 'prom-client'

/** Counts how often each value of one label came up. */
interface Tally {
  add(value: string, by?: number): void
}

export const connectionCounts = tally(
  'mayfly_smtp_connections_total',
  'SMTP connections, by how they began',
  'start',
)

export const mails = tally(
  'mayfly_smtp_mails_total',
  'Mails that came to their final dot, by outcome',
  'outcome',
)

export const mailBytes = tally(
  'mayfly_smtp_mail_bytes_total',
  'Bytes of mails that came to their final dot, by outcome',
  'outcome',
)

export const refusedRecipients = tally(
  'mayfly_smtp_refused_recipients_total',
  'RCPT commands that the rules of the house refused, by reason',
  'reason',
)

export const closedSessions = tally(
  'mayfly_smtp_cut_sessions_total',
  'SMTP sessions that we ended, by reason',
  'reason',
)

// Plain numbers that are handed over when somebody asks: hashing labels on each mail cost several microseconds.
// In the thread's default registry; whoever serves /metrics adds the threads up.
function tally(name: string, help: string, label: string): Tally {
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
    add(value, by = 1) {
      counts.set(value, (counts.get(value) ?? 0) + by)
    },
  }
}
