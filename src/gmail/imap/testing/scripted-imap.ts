import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach } from 'vitest'
import { openAccount } from '../account.ts'
import type { AccountOptions } from '../options.ts'
import { type ImapFixture, mailText, openImapFixture, testAccountAt } from './fixture.ts'

/**
 * NOT A MAIL SERVER. Speaks just enough IMAP to send what Dovecot cannot be made to send: Gmail's extensions and limits, wrong
 * literals, bodies of other mails, BYE at any moment.
 */
export async function openScriptedImap(options: { capabilities?: string } = {}) {
  const state = {
    capabilities: options.capabilities ?? 'IMAP4rev1 IDLE UIDPLUS MOVE SPECIAL-USE X-GM-EXT-1',
    greeting: '* OK scripted, not a mail server\r\n',
    uidValidity: 7,
    /** By folder. */
    mails: { INBOX: [], '[Gmail]/Spam': [] } as Record<string, ScriptedMail[]>,
    /** Overrides the default response; `%` stands for the tag. 'drop' closes the connection, 'silence' sends nothing. */
    respond: (_command: string): string | undefined => undefined,
    /** Received commands with arguments, without credentials. */
    commands: [] as string[],
  }
  const sockets = new Set<Socket>()

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.write(state.greeting)
    if (state.greeting.startsWith('* BYE')) socket.end()
    handleConnection(socket, state)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    state,
    connections: () => sockets.size,
    /** Sends an unsolicited response to every client. */
    push(line: string) {
      for (const socket of sockets) socket.write(`${line}\r\n`)
    },
    /** Closes every connection. */
    drop() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export type ScriptedImap = Awaited<ReturnType<typeof openScriptedImap>>
type State = ScriptedImap['state']

function handleConnection(socket: Socket, state: State): void {
  let buffer = ''
  let folder = 'INBOX'
  let idleTag = ''
  socket.on('data', (chunk) => {
    buffer += chunk.toString('latin1')
    for (let end = buffer.indexOf('\r\n'); end >= 0; end = buffer.indexOf('\r\n')) {
      const line = buffer.slice(0, end)
      buffer = buffer.slice(end + 2)
      const [tag = '', ...rest] = line.split(' ')
      const command = rest.join(' ')
      if (line === 'DONE') socket.write(`${idleTag} OK\r\n`)
      else {
        const selected = /^(?:SELECT|EXAMINE) "?([^"]+?)"?$/.exec(command)?.[1]
        if (selected) folder = selected
        if (command === 'IDLE') idleTag = tag
        respond(tag, command)
      }
    }
  })

  function respond(tag: string, command: string): void {
    const isLogin = /^(LOGIN|AUTHENTICATE)/.test(command)
    state.commands.push(isLogin ? (command.split(' ')[0] ?? '') : command)
    const response = state.respond(command) ?? defaultResponse(command, folder, state)
    if (response === 'drop') socket.destroy()
    else if (response !== 'silence') socket.write(response.replaceAll('%', tag), 'latin1')
    if (response.startsWith('* BYE')) socket.end()
  }
}

/** By command prefix. `%` stands for the tag: no test mail contains one. */
const DEFAULT_RESPONSES: readonly [
  string,
  string | ((command: string, folder: string, state: State) => string),
][] = [
  [
    'CAPABILITY',
    (_command, _folder, { capabilities }) => `* CAPABILITY ${capabilities}\r\n% OK\r\n`,
  ],
  ['NAMESPACE', '* NAMESPACE (("" "/")) NIL NIL\r\n% OK\r\n'],
  ['LIST "" ""', '* LIST (\\Noselect) "/" ""\r\n% OK\r\n'],
  ['LIST', '* LIST () "/" "INBOX"\r\n* LIST (\\Junk) "/" "[Gmail]/Spam"\r\n% OK\r\n'],
  ['IDLE', '+ idling\r\n'],
  ['LOGOUT', '* BYE\r\n% OK\r\n'],
  ['SELECT', selectResponse],
  ['EXAMINE', selectResponse],
  ['STATUS', statusResponse],
  ['UID SEARCH', searchResponse],
  ['UID FETCH', (command, folder, { mails }) => fetchResponse(command, mails[folder] ?? [])],
  ['', '% OK\r\n'],
]

function defaultResponse(command: string, folder: string, state: State): string {
  const response = DEFAULT_RESPONSES.find(([prefix]) => command.startsWith(prefix))?.[1] ?? ''
  return typeof response === 'string' ? response : response(command, folder, state)
}

function uidNext(mails: readonly ScriptedMail[] = []): number {
  return Math.max(0, ...mails.map(({ uid }) => uid)) + 1
}

function selectResponse(_command: string, folder: string, { mails, uidValidity }: State): string {
  const status = `* OK [UIDVALIDITY ${uidValidity}]\r\n* OK [UIDNEXT ${uidNext(mails[folder])}]\r\n`
  return `* ${mails[folder]?.length ?? 0} EXISTS\r\n${status}% OK [READ-ONLY]\r\n`
}

function statusResponse(command: string, _folder: string, { mails, uidValidity }: State): string {
  const name = /STATUS "?([^"(]+?)"? \(/.exec(command)?.[1] ?? ''
  const status = `UIDNEXT ${uidNext(mails[name])} UIDVALIDITY ${uidValidity}`
  return `* STATUS "${name}" (${status})\r\n% OK\r\n`
}

function searchResponse(command: string, folder: string, { mails }: State): string {
  const all = mails[folder] ?? []
  const set = /UID ([\d:*,]+)$/.exec(command)?.[1] ?? '1:*'
  return `* SEARCH ${uidsIn(set, all).join(' ')}\r\n% OK\r\n`
}

/** A mail of the scripted server, and what to get wrong about it. */
export interface ScriptedMail {
  uid: number
  raw: string
  /** X-GM-MSGID */
  id?: string
  /** RFC822.SIZE to report instead of the real one. */
  size?: number
  /** Literal size to announce, whatever follows. */
  literalSize?: number
  /** Body to send instead of its own. */
  body?: string
  /** UID to send the body under. */
  bodyUid?: number
}

export function uidsIn(set: string, mails: readonly ScriptedMail[]): number[] {
  const all = mails.map(({ uid }) => uid)
  const last = Math.max(0, ...all)
  const ranges = set.split(',').map((part) => {
    const [from = 0, to = from] = part.split(':').map((end) => (end === '*' ? last : Number(end)))
    return [Math.min(from, to), Math.max(from, to)] as const
  })
  return all.filter((uid) => ranges.some(([from, to]) => from <= uid && uid <= to))
}

export function fetchResponse(command: string, mails: readonly ScriptedMail[]): string {
  const uids = uidsIn(/^UID FETCH (\S+)/.exec(command)?.[1] ?? '', mails)
  const fields = /HEADER\.FIELDS \(([^)]*)\)/.exec(command)?.[1]
  const responses = mails
    .filter(({ uid }) => uids.includes(uid))
    .map((mail) => (fields === undefined ? bodyResponse(mail) : headResponse(mail, fields)))
  return `${responses.join('')}% OK\r\n`
}

function headResponse({ uid, raw, size, id }: ScriptedMail, fields: string): string {
  const wanted = fields.toLowerCase().split(' ')
  const lines = (raw.split('\r\n\r\n')[0] ?? '')
    .split('\r\n')
    .filter((line) => wanted.includes(line.split(':')[0]?.toLowerCase() ?? ''))
  const block = `${lines.join('\r\n')}\r\n\r\n`
  const facts = [
    `UID ${uid}`,
    `RFC822.SIZE ${size ?? raw.length}`,
    'INTERNALDATE "15-Nov-2026 05:00:00 +0000"',
    ...(id ? [`X-GM-MSGID ${id}`] : []),
  ].join(' ')
  return `* 1 FETCH (${facts} BODY[HEADER.FIELDS (${fields})] {${block.length}}\r\n${block})\r\n`
}

function bodyResponse({ uid, raw, literalSize, body = raw, bodyUid = uid }: ScriptedMail): string {
  return `* 1 FETCH (UID ${bodyUid} BODY[] {${literalSize ?? body.length}}\r\n${body})\r\n`
}

export const X = 'ann+x@mail.test'

/** Per test: a scripted server and a fixture with one alias. */
export function scriptedImapForTests() {
  const parts: { server?: ScriptedImap; fixture?: ImapFixture; close?(): Promise<void> } = {}
  beforeEach(async () => {
    parts.server = await openScriptedImap()
    parts.fixture = openImapFixture([X])
  })
  afterEach(async () => {
    await parts.close?.()
    await parts.server?.close()
  })

  function server(): ScriptedImap {
    if (!parts.server) throw new Error('opened before each test')
    return parts.server
  }
  function fixture(): ImapFixture {
    if (!parts.fixture) throw new Error('opened before each test')
    return parts.fixture
  }

  return {
    server,
    fixture,
    /** Starts fetching without waiting for the first poll. */
    open(changes: Partial<AccountOptions> = {}): void {
      parts.close = openAccount(fixture().deps, testAccountAt(server().port, changes)).close
    },
    close: async () => parts.close?.(),
    async start(changes: Partial<AccountOptions> = {}): Promise<void> {
      this.open(changes)
      await fixture().untilHealth('ok')
    },
    /** Adds mail to a folder and pushes EXISTS. */
    deliver(mail: Omit<ScriptedMail, 'raw'> & { raw?: string }, folder = 'INBOX'): ScriptedMail {
      const delivered = { raw: mailText({ To: X }, `uid ${mail.uid}`), ...mail }
      server().state.mails[folder]?.push(delivered)
      server().push(`* ${server().state.mails['INBOX']?.length} EXISTS`)
      return delivered
    },
    /** How often commands with this prefix were received. */
    commandCount: (prefix: string) =>
      server().state.commands.filter((one) => one.startsWith(prefix)).length,
    /** Checked again after every command. */
    async untilCommand(condition: () => boolean): Promise<void> {
      const { state } = server()
      const { respond } = state
      await new Promise<void>((resolve) => {
        state.respond = (command) => {
          setImmediate(() => condition() && resolve())
          return respond(command)
        }
      })
      state.respond = respond
    },
  }
}
