import { Counter } from 'prom-client'

// In the thread's default registry; whoever serves /metrics adds the threads up.
export const connections = new Counter({
  name: 'mayfly_smtp_connections_total',
  help: 'SMTP connections taken, by how they began',
  labelNames: ['start'] as const,
})

export const mails = new Counter({
  name: 'mayfly_smtp_mails_total',
  help: 'Mails that came to their final dot, by outcome',
  labelNames: ['outcome'] as const,
})

export const mailBytes = new Counter({
  name: 'mayfly_smtp_kept_bytes_total',
  help: 'Bytes of mail that were kept',
})

export const refusedRecipients = new Counter({
  name: 'mayfly_smtp_refused_recipients_total',
  help: 'RCPT commands refused by the rules of the house, by reason',
  labelNames: ['reason'] as const,
})

export const cutSessions = new Counter({
  name: 'mayfly_smtp_cut_sessions_total',
  help: 'SMTP sessions that we ended, by reason',
  labelNames: ['reason'] as const,
})
