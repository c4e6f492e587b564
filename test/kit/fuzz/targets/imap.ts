import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Address } from '../../../../src/base/address.ts'
import { openConnector } from '../../../../src/gmail/imap/connection.ts'
import { ImapError } from '../../../../src/gmail/imap/errors.ts'
import { listFolders, openFolder, specialFolders } from '../../../../src/gmail/imap/folders.ts'
import { fetchBody, fetchHeads } from '../../../../src/gmail/imap/message.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMING } from '../../../../src/gmail/imap/options.ts'
import { bytesOf } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

const HEADER = 'To: ann+x@mail.test\r\nMessage-ID: <1@a.test>\r\n\r\n'
const FACTS = 'UID 1 RFC822.SIZE 60 INTERNALDATE "15-Nov-2026 05:00:00 +0000" X-GM-MSGID 17'
const FIELDS = 'BODY[HEADER.FIELDS (Delivered-To X-Original-To To Cc Received Message-ID)]'
const MAIL = `${HEADER}hello\r\n`
const SECRET = 'canary-password-7Q'

/** Between what the server says after each line of the client. */
const NEXT = '\n~\n'
const SCRIPT = [
  '* OK [CAPABILITY IMAP4rev1 IDLE UIDPLUS SPECIAL-USE X-GM-EXT-1] hello\r\n',
  '% OK [CAPABILITY IMAP4rev1 IDLE UIDPLUS SPECIAL-USE X-GM-EXT-1] in\r\n',
  '* LIST (\\Noselect) "/" ""\r\n% OK\r\n',
  '* LIST () "/" "INBOX"\r\n* LIST (\\Junk) "/" "[Gmail]/Spam"\r\n% OK\r\n',
  '* LSUB () "/" "INBOX"\r\n% OK\r\n',
  '* 1 EXISTS\r\n* OK [UIDVALIDITY 7]\r\n* OK [UIDNEXT 2]\r\n* FLAGS (\\Seen)\r\n% OK [READ-ONLY]\r\n',
  '* SEARCH 1\r\n% OK\r\n',
  `* 1 FETCH (${FACTS} ${FIELDS} {${HEADER.length}}\r\n${HEADER})\r\n% OK\r\n`,
  `* 1 FETCH (UID 1 BODY[] {${MAIL.length}}\r\n${MAIL})\r\n% OK\r\n`,
]
const REFUSED = [
  ...SCRIPT.slice(0, 1),
  `% NO [AUTHENTICATIONFAILED] no such password: ${SECRET}\r\n`,
]

const TIMEOUT_MS = 100

let script: readonly string[] = []
let sent = ''
let port = 0

/** The responses of an IMAP server. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    SCRIPT.join(NEXT),
    REFUSED.join(NEXT),
    SCRIPT.join(NEXT).replaceAll('% OK\r\n', '% NO\r\n'),
  ]),
  tokens: [
    NEXT,
    ...(
      '\r\n|* |% OK|% NO |% BAD |+ |* BYE|(|)|"|\\|{|}|NIL|[|]|%|{5}\r\n|{99999999999}\r\n|{-1}\r\n|{5+}\r\n|~{3}\r\n|' +
      'UID 4294967296|EXPUNGE|* 0 FETCH (|\0|RFC822.SIZE|INTERNALDATE "|BODY[]|FLAGS (|MODSEQ (1)|* SEARCH 1:*|* ESEARCH|' +
      '[ALERT]|((((((|é'
    ).split('|'),
  ],
  maxBytes: 8 * 1024,
  async open() {
    const server = createServer((socket) => {
      const [greeting = '', ...responses] = script
      const send = (response: string) => {
        sent += response
        socket.write(response, 'latin1')
      }
      socket.on('error', () => {})
      send(greeting)
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
        const lines = text.split('\r\n')
        text = lines.pop() ?? ''
        for (const line of lines) {
          const response = responses.shift()
          if (response === undefined || line.endsWith('LOGOUT')) socket.destroy()
          else send(response.replaceAll('%', line.split(' ', 1)[0] ?? ''))
        }
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    return async () => void server.close()
  },
  async run(input) {
    script = input.toString('latin1').split(NEXT)
    sent = ''
    const end = new AbortController()
    try {
      return await fetchAll(end.signal)
    } catch (error) {
      if (!(error instanceof ImapError)) throw error
      check(!error.message.includes(SECRET) && error.message.length < 200, `said ${error.message}`)
      return false
    } finally {
      end.abort()
    }
  },
}

/** Whether there is a mail. */
async function fetchAll(signal: AbortSignal): Promise<boolean> {
  const account = {
    email: 'ann@mail.test' as Address,
    host: '127.0.0.1',
    port,
    tls: false,
    login: { password: SECRET },
    deleteAfterFetch: false,
  }
  const timing = { ...DEFAULT_TIMING, commandTimeoutMs: TIMEOUT_MS }
  const options = { limits: DEFAULT_LIMITS, timing, onChange: () => {}, signal }
  const connection = await openConnector(account, options, () => new Date())()
  try {
    specialFolders(await listFolders(connection))
    await openFolder(connection, 'INBOX', { write: false })
    const uids = await connection.search({ uid: '1:*' })
    const heads = await fetchHeads(connection, uids.slice(0, 5))
    for (const head of heads.slice(0, 2)) {
      const body = Buffer.from((await fetchBody(connection, head, TIMEOUT_MS)) ?? []).toString(
        'latin1',
      )
      // Quoted instead of counted, it has backslashes.
      check(
        sent.replaceAll('\\', '').includes(body.replaceAll('\\', '')),
        'a body that was not sent',
      )
    }
    return heads.length > 0
  } finally {
    await connection.close()
  }
}
