// Every text we say is our own: nothing a client sent is ever said back to it.

/** One reply line, ready to write. */
function reply(code: number, status: string, text: string): string {
  return `${code} ${status} ${text}\r\n`
}

export function greeting(hostname: string): string {
  return `220 ${hostname} ESMTP ready\r\n`
}

export const REPLIES = {
  ok: reply(250, '2.0.0', 'OK'),
  senderOk: reply(250, '2.1.0', 'OK'),
  recipientOk: reply(250, '2.1.5', 'OK'),
  kept: reply(250, '2.0.0', 'kept'),
  bye: reply(221, '2.0.0', 'bye'),
  goAhead: '354 end with CRLF.CRLF\r\n',
  startTls: reply(220, '2.0.0', 'go ahead'),

  shuttingDown: reply(421, '4.3.2', 'going down, try again soon'),
  faultOfOurs: reply(421, '4.3.0', 'a fault of ours, closing, try again later'),
  tooSlow: reply(421, '4.4.2', 'too slow, closing'),
  sessionOver: reply(421, '4.4.2', 'session took too long, closing'),
  tooManyConnections: reply(421, '4.7.0', 'too many connections from your address'),
  tooManyCommands: reply(421, '4.7.0', 'too many commands in one session'),
  tooManyRefused: reply(421, '4.7.0', 'too many refused commands'),
  tooManyMails: reply(450, '4.7.1', 'too many mails from your address, try again in a minute'),
  tooMuchData: reply(450, '4.7.1', 'too much mail data from your address, try again later'),
  storeAway: reply(451, '4.3.0', 'mail cannot be kept right now, try again soon'),
  ourFault: reply(451, '4.3.0', 'a fault of ours, try again later'),
  mailboxFull: reply(452, '4.2.2', 'mailbox full'),
  noSpace: reply(452, '4.3.1', 'no room for mail right now, try again later'),
  tooManyRecipients: reply(452, '4.5.3', 'too many recipients, send the rest in another mail'),

  notSmtp: reply(500, '5.5.2', 'this is an SMTP port'),
  unknownCommand: reply(500, '5.5.2', 'unknown command'),
  lineTooLong: reply(500, '5.5.2', 'line too long'),
  badLine: reply(500, '5.5.2', 'lines are printable UTF-8 and end with CRLF'),
  badArgument: reply(501, '5.5.4', 'bad argument'),
  badParameter: reply(501, '5.5.4', 'bad parameter'),
  badSender: reply(501, '5.1.7', 'bad sender address'),
  badPath: reply(501, '5.1.3', 'bad recipient address'),
  notOffered: reply(502, '5.5.1', 'not offered here'),
  helloFirst: reply(503, '5.5.1', 'say EHLO first'),
  mailFirst: reply(503, '5.5.1', 'say MAIL first'),
  mailTwice: reply(503, '5.5.1', 'one sender per mail'),
  alreadySecure: reply(503, '5.5.1', 'TLS is on already'),
  behindStartTls: reply(503, '5.5.1', 'nothing may follow STARTTLS before the handshake'),
  unknownRecipient: reply(550, '5.1.1', 'nobody here has that address'),
  bareNewline: reply(550, '5.6.11', 'a CR or LF stands alone'),
  needsUtf8: reply(550, '5.6.7', 'this address needs SMTPUTF8'),
  noRelay: reply(550, '5.7.1', 'we do not relay'),
  tooBig: reply(552, '5.3.4', 'mail too big'),
  noRecipient: reply(554, '5.5.1', 'no valid recipient'),
  unknownParameter: reply(555, '5.5.4', 'parameter not offered here'),
} as const
