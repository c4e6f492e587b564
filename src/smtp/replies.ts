// Reply texts are constants: client input is never echoed.

function replyLine(code: number, status: string, text: string): string {
  return `${code} ${status} ${text}\r\n`
}

export function greeting(hostname: string): string {
  return `220 ${hostname} ESMTP ready\r\n`
}

export const REPLIES = {
  ok: replyLine(250, '2.0.0', 'OK'),
  senderOk: replyLine(250, '2.1.0', 'OK'),
  recipientOk: replyLine(250, '2.1.5', 'OK'),
  accepted: replyLine(250, '2.0.0', 'Message accepted'),
  closing: replyLine(221, '2.0.0', 'Bye'),
  notVerified: replyLine(252, '2.0.0', 'Cannot verify, but will accept mail and try to deliver it'),
  startData: '354 End data with <CRLF>.<CRLF>\r\n',
  startTls: replyLine(220, '2.0.0', 'Ready to start TLS'),

  shuttingDown: replyLine(421, '4.3.2', 'Service shutting down, try again later'),
  internalErrorClosing: replyLine(421, '4.3.0', 'Internal error, closing connection'),
  tooSlow: replyLine(421, '4.4.2', 'Timeout, closing connection'),
  sessionTimeout: replyLine(421, '4.4.2', 'Session too long, closing connection'),
  tooManyConnections: replyLine(421, '4.7.0', 'Too many connections from your address'),
  tooManyCommands: replyLine(421, '4.7.0', 'Too many commands in one session'),
  tooManyRefused: replyLine(421, '4.7.0', 'Too many rejected commands'),
  tooManyMails: replyLine(450, '4.7.1', 'Too many messages from your address, try again later'),
  tooMuchData: replyLine(450, '4.7.1', 'Too much data from your address, try again later'),
  storeUnavailable: replyLine(451, '4.3.0', 'Storage unavailable, try again later'),
  internalError: replyLine(451, '4.3.0', 'Internal error, try again later'),
  domainNotChecked: replyLine(451, '4.3.0', 'Domain not checked yet, try again later'),
  mailboxFull: replyLine(452, '4.2.2', 'Mailbox full'),
  noSpace: replyLine(452, '4.3.1', 'Insufficient storage, try again later'),
  tooManyRecipients: replyLine(452, '4.5.3', 'Too many recipients'),

  notSmtp: replyLine(500, '5.5.2', 'This is an SMTP port'),
  unknownCommand: replyLine(500, '5.5.2', 'Command not recognized'),
  lineTooLong: replyLine(500, '5.5.2', 'Line too long'),
  badLine: replyLine(500, '5.5.2', 'Lines must be printable UTF-8 and end with CRLF'),
  badArgument: replyLine(501, '5.5.4', 'Invalid argument'),
  badParameter: replyLine(501, '5.5.4', 'Invalid parameter'),
  badSender: replyLine(501, '5.1.7', 'Invalid sender address'),
  badPath: replyLine(501, '5.1.3', 'Invalid recipient address'),
  notImplemented: replyLine(502, '5.5.1', 'Command not implemented'),
  blockedSession: replyLine(503, '5.7.1', 'Your address is blocked, send QUIT'),
  ehloRequired: replyLine(503, '5.5.1', 'Send EHLO first'),
  mailRequired: replyLine(503, '5.5.1', 'Send MAIL first'),
  nestedMail: replyLine(503, '5.5.1', 'Sender already specified'),
  tlsActive: replyLine(503, '5.5.1', 'TLS already active'),
  inputAfterStartTls: replyLine(503, '5.5.1', 'Pipelining after STARTTLS not allowed'),
  unknownRecipient: replyLine(550, '5.1.1', 'No such mailbox'),
  limitReached: replyLine(550, '5.2.1', 'Mailbox accepts no more messages'),
  bareNewline: replyLine(550, '5.6.11', 'Bare CR or LF not allowed'),
  needsUtf8: replyLine(550, '5.6.7', 'Address requires SMTPUTF8'),
  relayDenied: replyLine(550, '5.7.1', 'Relaying denied'),
  senderNotAllowed: replyLine(550, '5.7.1', 'Sender not allowed by the recipient'),
  senderBlocked: replyLine(550, '5.7.1', 'Sender or client blocked by the operator'),
  tooBig: replyLine(552, '5.3.4', 'Message too big'),
  clientBlocked: replyLine(554, '5.7.1', 'Your address is blocked by the operator'),
  noRecipient: replyLine(554, '5.5.1', 'No valid recipients'),
  unknownParameter: replyLine(555, '5.5.4', 'Parameter not recognized'),
} as const

/** With our id, by which the operator finds it in the mail log. */
export function acceptedReply(id: string | undefined): string {
  return id === undefined ? REPLIES.accepted : replyLine(250, '2.0.0', `Message accepted as ${id}`)
}

export function isRefusal(reply: string): boolean {
  return reply.startsWith('5') || reply.startsWith('4')
}
