// Other services for test mail, call by call: docs/coming-from.md and /docs/coming-from. The facts about them are from their
// documentation and their packages on npm: mailosaur 11.1, mailslurp-client 17.4, @cemalgnlts/mailjs 3.1, mailpit-api 2.1.

/** `code` is between backticks in all texts. */
export interface OtherService {
  name: string
  about: string
  /** Their call, then ours. */
  calls: readonly (readonly [theirs: string, http: string, javascript: string, python: string])[]
  /** What works in another way. */
  differences: readonly string[]
  /** What Mayfly does not have, as the end of a sentence. */
  missing: string
}

export const COMING_FROM =
  'The calls of Mailosaur, MailSlurp, mail.tm and Mailpit, and the ones that do the same here. In JavaScript and Python, `mayfly` is a client (`new Mayfly({ url })`, `Mayfly(url)`) and `mailbox` one of its mailboxes. `…` stands for a value of yours.'

const CREATE = [
  '`POST /api/create-session`',
  '`mayfly.createMailbox()`',
  '`mayfly.create_mailbox()`',
] as const
const LIST = ['`GET /api/check-mail`', '`mailbox.messages()`', '`mailbox.messages()`'] as const
const READ = ['`GET /api/read-mail?id=…`', '`mailbox.read(id)`', '`mailbox.read(id)`'] as const
const RAW = ['`GET /api/raw-mail?id=…`', '`mailbox.raw(id)`', '`mailbox.raw(id)`'] as const
const WAIT = [
  '`GET /api/check-mail?wait=30`',
  '`mailbox.waitForMessage()`',
  '`mailbox.wait_for_message()`',
] as const
const WAIT_FILTERED = [
  '`GET /api/check-mail?wait=30&from=…&subject=…`',
  '`mailbox.waitForMessage({ from, subject })`',
  '`mailbox.wait_for_message(from_=…, subject=…)`',
] as const
const CODE = [
  '`GET /api/check-mail?wait=30&has_code=1`',
  '`mailbox.waitForCode()`',
  '`mailbox.wait_for_code()`',
] as const
const LINK = [
  '`GET /api/check-mail?wait=30&has_link=1`',
  '`mailbox.waitForLink()`',
  '`mailbox.wait_for_link()`',
] as const
const ATTACHMENT = [
  '`GET /api/attachment?id=…&index=0`',
  '`mailbox.attachment(id, 0)`',
  '`mailbox.attachment(id, 0)`',
] as const
const DELETE = ['`POST /api/delete-mail`', '`mailbox.delete(id)`', '`mailbox.delete(id)`'] as const
const DELETE_ALL = [
  '`POST /api/delete-mail` with `all=1`, `up_to_id`',
  '`mailbox.delete(await mailbox.messages({ limit: 500 }))`',
  '`mailbox.delete(mailbox.messages(limit=500))`',
] as const
const END = ['`POST /api/delete-session`', '`mailbox.end()`', '`mailbox.end()`'] as const
const EVENTS = ['`GET /api/events`', '`mailbox.events()`', '`mailbox.events()`'] as const
const WEBHOOK = [
  '`POST /webhooks`',
  '`mayfly.webhooks.create({ url, to })`',
  '`mayfly.webhooks.create(url, to=…)`',
] as const

const IDS =
  'Ids of messages are integers that rise within a mailbox, not strings; `since_id` continues after one.'
const ONCE =
  'The waiting methods of a mailbox return each message once, the oldest first, also one that was there before the call. A second wait never returns the first message again.'

const ALL =
  '`delete` of the clients takes up to 500 messages; a request with `all=1` deletes all whose id is at most `up_to_id`. Neither ends the mailbox: that is `end`.'
const POOL =
  'With an API key, `GET /emails` reads the mail of mailboxes that were created with the key, which is private to it, and mail to other names at a reader domain, which all holders of keys share, as in a public inbox.'

export const OTHER_SERVICES: readonly OtherService[] = [
  {
    name: 'Mailosaur',
    about: 'A hosted service for test mail and SMS. Its inboxes are called servers.',
    calls: [
      ['`servers.generateEmailAddress(serverId)`', ...CREATE],
      ['`messages.get(serverId, { sentTo })`', ...WAIT],
      ['`messages.get(serverId, { sentTo, sentFrom, subject })`', ...WAIT_FILTERED],
      ['`messages.list(serverId)`', ...LIST],
      [
        '`messages.search(serverId, { sentFrom, subject, body })`',
        '`GET /api/check-mail?from=…&subject=…&q=…`',
        '`mailbox.messages({ from, subject, q })`',
        '`mailbox.messages(from_=…, subject=…, q=…)`',
      ],
      ['`messages.getById(id)`', ...READ],
      ['`message.html.codes`, `message.text.codes`', ...CODE],
      ['`message.html.links`, `message.text.links`', ...LINK],
      ['`files.getAttachment(attachmentId)`', ...ATTACHMENT],
      ['`files.getEmail(id)`', ...RAW],
      ['`messages.del(id)`', ...DELETE],
      ['`messages.deleteAll(serverId)`', ...DELETE_ALL],
      ['`usage.limits()`', '`GET /usage`', '`mayfly.usage()`', '`mayfly.usage()`'],
    ],
    differences: [
      'A server receives mail for every name at its own domain, and `sentTo` selects. Here each address is a mailbox with a token of its own: create one per test, and nothing has to be selected or cleaned up.',
      POOL,
      ALL,
      'Every call there needs the API key of the account. Here a mailbox needs only its token; a key is for `/emails`, `/sessions` and `/webhooks`.',
      '`messages.get` polls, for 10 seconds unless told otherwise, and sees only mail of the last hour (`receivedAfter`). Here the server holds the request until mail arrives, the clients wait 30 seconds by default, and no mail is too old.',
      ONCE,
      IDS,
      'Codes and links are those of the message, not of each body. `codes` lists the most likely one first; the `kind` of a link says whether it verifies, signs in or resets a password.',
      'A mailbox and its mail end after 24 hours, or after the `ttl` that it was created with.',
    ],
    missing:
      'SMS, authenticator devices, sending, replying and forwarding, screenshots in mail programs, spam and deliverability reports.',
  },
  {
    name: 'MailSlurp',
    about: 'A hosted service that sends and receives mail and SMS.',
    calls: [
      ['`createInbox()`', ...CREATE],
      [
        '`createInboxWithOptions({ prefix, expiresIn, description })`',
        '`POST /api/create-session` with `prefix`, `ttl`, `label`',
        '`mayfly.createMailbox({ prefix, ttl, label })`',
        '`mayfly.create_mailbox(prefix=…, ttl=…, label=…)`',
      ],
      [
        '`getInbox(inboxId)`',
        '`GET /api/check-mail`',
        '`mayfly.openMailbox(token)`',
        '`mayfly.open_mailbox(token)`',
      ],
      [
        '`getAllInboxes()`',
        '`GET /sessions`',
        '`mayfly.sessions.list()`',
        '`mayfly.sessions.list()`',
      ],
      ['`waitForLatestEmail(inboxId, timeout, unreadOnly)`', ...WAIT],
      ['`waitForMatchingEmails({ matches }, count, inboxId)`', ...WAIT_FILTERED],
      ['`getEmails(inboxId)`', ...LIST],
      ['`getEmail(emailId)`', ...READ],
      ['`emailController.getEmailCodes({ emailId })`', ...CODE],
      ['`emailController.getEmailLinks({ emailId })`', ...LINK],
      ['`getRawEmail(emailId)`', ...RAW],
      ['`downloadAttachment(emailId, attachmentId)`', ...ATTACHMENT],
      ['`deleteEmail(emailId)`', ...DELETE],
      ['`emptyInbox(inboxId)`', ...DELETE_ALL],
      ['`deleteInbox(inboxId)`', ...END],
      ['`webhookController.createWebhook({ … })`', ...WEBHOOK],
    ],
    differences: [
      'Inboxes belong to the account whose key is sent with every call. Here whoever has the token has the mailbox. To list, end or reopen mailboxes without their tokens, create them with an API key.',
      'An expired inbox keeps its mail. Here the mail is deleted with the mailbox, after 24 hours or its `ttl`; `ttl` is in seconds, `expiresIn` in milliseconds.',
      `\`unreadOnly\` and \`waitForNthEmail\` have no counterpart, because none is needed: ${ONCE.charAt(0).toLowerCase()}${ONCE.slice(1)}`,
      '`from` is an address or a domain with its subdomains, `subject` a part of the subject; there are no conditions on other headers.',
      'Addresses are at the domains of the installation, which `GET /api/domains` lists, or at [domains of your key](domains.md#domains-of-key-holders), if the installation allows them.',
      ALL,
      IDS,
    ],
    missing:
      'sending, SMS and phone numbers, IMAP and SMTP access to an inbox, read marks, forwarders and automatic replies.',
  },
  {
    name: 'mail.tm',
    about:
      'A public service for temporary addresses, without keys. `mailjs` is `@cemalgnlts/mailjs`.',
    calls: [
      [
        '`GET /domains`, `mailjs.getDomains()`',
        '`GET /api/domains`',
        '`mayfly.domains()`',
        '`mayfly.domains()`',
      ],
      ['`POST /accounts`, then `POST /token`; `mailjs.createOneAccount()`', ...CREATE],
      [
        '`POST /token`, `mailjs.login(address, password)`',
        '`POST /sessions/roll-token` (with a key)',
        '`mayfly.sessions.rollToken(email)`',
        '`mayfly.sessions.roll_token(email)`',
      ],
      [
        '`GET /me`, `mailjs.loginWithToken(token)`',
        '`GET /api/check-mail`',
        '`mayfly.openMailbox(token)`',
        '`mayfly.open_mailbox(token)`',
      ],
      ['`GET /messages`, `mailjs.getMessages()`', ...LIST],
      ['`GET /messages/{id}`, `mailjs.getMessage(id)`', ...READ],
      ['`downloadUrl` of an attachment', ...ATTACHMENT],
      ['`GET /sources/{id}`, `mailjs.getSource(id)`', ...RAW],
      ['`DELETE /messages/{id}`, `mailjs.deleteMessage(id)`', ...DELETE],
      ['`DELETE /accounts/{id}`, `mailjs.deleteMe()`', ...END],
      ['Mercure, `mailjs.on("arrive", …)`', ...EVENTS],
      ['a loop over `GET /messages`', ...WAIT],
      ['a search for the code in `text`', ...CODE],
    ],
    differences: [
      'If the installation allows it (`MAYFLY_DOORS`), clients of mail.tm work unchanged: their base URL is then that of the installation, followed by `/compat/mailtm`.',
      'An account has a password, for which `POST /token` returns tokens. Here creating the mailbox returns its only token. A lost one can be replaced only if the mailbox was created with an API key.',
      'Lists have pages of 30 messages in `hydra:member`. Here a list has 100 messages in `messages`, or up to 500 with `limit`.',
      'Events there are about the account, from another host. Here they are server-sent events with the summary of the message, and the stream continues where it was interrupted.',
      'Addresses may be chosen by the server: `prefix` and `domain` are optional.',
      'The limit is 8 requests a second there, 50 here, with bursts of 200.',
      IDS,
    ],
    missing: 'passwords, and the `seen` mark of a message.',
  },
  {
    name: 'Mailpit',
    about:
      'A program like Mayfly, that you run yourself; it collects the mail of an application under development in one list. `mailpit` is `mailpit-api`.',
    calls: [
      [
        '`GET /api/v1/messages`, `mailpit.listMessages()`',
        '`GET /emails` (with a key; shared, see below)',
        '`mayfly.emails()`',
        '`mayfly.emails()`',
      ],
      [
        '`GET /api/v1/search?query=to:…`, `mailpit.searchMessages({ query })`',
        '`GET /emails?to=…&from=…&subject=…&q=…`',
        '`mayfly.emails({ to, from, subject, q })`',
        '`mayfly.emails(to=…, from_=…, subject=…, q=…)`',
      ],
      ['`mailpit.waitForMessage({ query })`', ...WAIT_FILTERED],
      [
        '`GET /api/v1/message/{ID}`, `mailpit.getMessageSummary(id)`',
        '`GET /api/read-mail?id=…`, `GET /emails/{id}`',
        '`mailbox.read(id)`, `mayfly.readEmail(email)`',
        '`mailbox.read(id)`, `mayfly.read_email(email)`',
      ],
      [
        '`GET /api/v1/message/latest`',
        '`GET /api/check-mail?limit=1`',
        '`mailbox.messages({ limit: 1 })`',
        '`mailbox.messages(limit=1)`',
      ],
      [
        '`GET /api/v1/message/{ID}/headers`, `mailpit.getMessageHeaders(id)`',
        '`GET /api/read-mail?id=…&headers=1`',
        '`mailbox.headers(id)`',
        '`mailbox.headers(id)`',
      ],
      [
        '`GET /api/v1/message/{ID}/part/{PartID}`, `mailpit.getMessageAttachment(id, partID)`',
        ...ATTACHMENT,
      ],
      ['`GET /api/v1/message/{ID}/raw`, `mailpit.getMessageSource(id)`', ...RAW],
      ['`DELETE /api/v1/messages` with `IDs`, `mailpit.deleteMessages({ IDs })`', ...DELETE],
      ['`DELETE /api/v1/messages` without `IDs`', ...DELETE_ALL],
      ['the WebSocket `/api/events`', ...EVENTS],
      ['`--webhook-url`', ...WEBHOOK],
    ],
    differences: [
      'By default, Mailpit accepts mail for every address of every domain. Mayfly accepts mail only for its own domains: for addresses of live mailboxes and, at reader domains, for any name. Let your application send to port 2525 instead of 1025, and to the address of a mailbox that the test creates.',
      'All mail there is one list, open to everyone who reaches the port or knows its password. Here tests with a mailbox each do not see the mail of each other, and need not delete any.',
      POOL,
      ALL,
      'Mailpit keeps the 500 newest messages unless told otherwise. Here mail ends with its mailbox, and a mailbox that is full defers new mail.',
      'Its API has no call that waits; `waitForMessage` polls. Here `wait` does.',
      ONCE,
      'Search there has a language of its own (`to:`, `subject:`, `tag:`). Here there are parameters: `from`, `subject` and `q`, on `/emails` also `to`, on `/api/check-mail` also `has_code` and `has_link`.',
      IDS,
      'In tests, `startMayfly()` starts the service on free ports.',
    ],
    missing:
      'checks of HTML, links and spam, relaying, sending by the API, tags, read marks, POP3, simulated SMTP errors.',
  },
]
