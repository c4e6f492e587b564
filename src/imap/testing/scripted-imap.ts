import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach } from 'vitest'
import { openAccount } from '../account.ts'
import type { AccountOptions } from '../options.ts'
import { type ImapFixture, mailText, openImapFixture, testAccountAt } from './fixture.ts'

/**
 * NOT A MAIL SERVER. A script that speaks just enough IMAP for one client, to say what a Dovecot cannot be made to say:
 * Gmail's extensions and limits, wrong literals, other mails' bodies, a good-bye at any moment.
 */
export async function openScriptedImap(options: { capabilities?: string } = {}) {
  const state = {
    capabilities: options.capabilities ?? 'IMAP4rev1 IDLE UIDPLUS MOVE SPECIAL-USE X-GM-EXT-1',
    greeting: '* OK scripted, not a mail server\r\n',
    uidValidity: 7,
    /** By folder. */
    mails: { INBOX: [], '[Gmail]/Spam': [] } as Record<string, ScriptedMail[]>,
    /**
     * What to say to a command instead of the usual; `%` stands for the command's tag. 'drop' ends the connection,
     * 'silence' says nothing.
     */
    answer: (_command: string): string | undefined => undefined,
    /** What the client asked, by command and arguments, without its login. */
    asked: [] as string[],
  }
  const sockets = new Set<Socket>()

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.write(state.greeting)
    if (state.greeting.startsWith('* BYE')) socket.end()
    converse(socket, state)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    state,
    connections: () => sockets.size,
    /** Says something unasked to everybody. */
    say(line: string) {
      for (const socket of sockets) socket.write(`${line}\r\n`)
    },
    /** Ends every connection. */
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

function converse(socket: Socket, state: State): void {
  let heard = ''
  let folder = 'INBOX'
  let idleTag = ''
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1')
    for (let end = heard.indexOf('\r\n'); end >= 0; end = heard.indexOf('\r\n')) {
      const line = heard.slice(0, end)
      heard = heard.slice(end + 2)
      const [tag = '', ...rest] = line.split(' ')
      const command = rest.join(' ')
      if (line === 'DONE') socket.write(`${idleTag} OK\r\n`)
      else {
        const selected = /^(?:SELECT|EXAMINE) "?([^"]+?)"?$/.exec(command)?.[1]
        if (selected) folder = selected
        if (command === 'IDLE') idleTag = tag
        say(tag, command)
      }
    }
  })

  function say(tag: string, command: string): void {
    const isLogin = /^(LOGIN|AUTHENTICATE)/.test(command)
    state.asked.push(isLogin ? (command.split(' ')[0] ?? '') : command)
    const answer = state.answer(command) ?? usualAnswer(command, folder, state)
    if (answer === 'drop') socket.destroy()
    else if (answer !== 'silence') socket.write(answer.replaceAll('%', tag), 'latin1')
    if (answer.startsWith('* BYE')) socket.end()
  }
}

/** By the beginning of the command. `%` stands for the tag: no mail of these tests has one in it. */
const USUAL: readonly [
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
  ['SELECT', selectAnswer],
  ['EXAMINE', selectAnswer],
  ['STATUS', statusAnswer],
  ['UID SEARCH', searchAnswer],
  ['UID FETCH', (command, folder, { mails }) => fetchAnswer(command, mails[folder] ?? [])],
  ['', '% OK\r\n'],
]

function usualAnswer(command: string, folder: string, state: State): string {
  const answer = USUAL.find(([beginning]) => command.startsWith(beginning))?.[1] ?? ''
  return typeof answer === 'string' ? answer : answer(command, folder, state)
}

function uidNext(mails: readonly ScriptedMail[] = []): number {
  return Math.max(0, ...mails.map(({ uid }) => uid)) + 1
}

function selectAnswer(_command: string, folder: string, { mails, uidValidity }: State): string {
  const marks = `* OK [UIDVALIDITY ${uidValidity}]\r\n* OK [UIDNEXT ${uidNext(mails[folder])}]\r\n`
  return `* ${mails[folder]?.length ?? 0} EXISTS\r\n${marks}% OK [READ-ONLY]\r\n`
}

function statusAnswer(command: string, _folder: string, { mails, uidValidity }: State): string {
  const asked = /STATUS "?([^"(]+?)"? \(/.exec(command)?.[1] ?? ''
  const marks = `UIDNEXT ${uidNext(mails[asked])} UIDVALIDITY ${uidValidity}`
  return `* STATUS "${asked}" (${marks})\r\n% OK\r\n`
}

function searchAnswer(command: string, folder: string, { mails }: State): string {
  const all = mails[folder] ?? []
  const set = /UID ([\d:*,]+)$/.exec(command)?.[1] ?? '1:*'
  return `* SEARCH ${uidsIn(set, all).join(' ')}\r\n% OK\r\n`
}

/** A mail of the scripted server, and what it is to get wrong about it. */
export interface ScriptedMail {
  uid: number
  raw: string
  /** X-GM-MSGID */
  id?: string
  /** Lies: what to tell instead of the truth. */
  size?: number
  /** The literal's size, whatever follows it. */
  announce?: number
  /** The body that comes when this one is asked for. */
  body?: string
  /** The UID under which the body comes. */
  answersAs?: number
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

export function fetchAnswer(command: string, mails: readonly ScriptedMail[]): string {
  const uids = uidsIn(/^UID FETCH (\S+)/.exec(command)?.[1] ?? '', mails)
  const fields = /HEADER\.FIELDS \(([^)]*)\)/.exec(command)?.[1]
  const answers = mails
    .filter(({ uid }) => uids.includes(uid))
    .map((mail) => (fields === undefined ? bodyAnswer(mail) : headAnswer(mail, fields)))
  return `${answers.join('')}% OK\r\n`
}

function headAnswer({ uid, raw, size, id }: ScriptedMail, fields: string): string {
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

function bodyAnswer({ uid, raw, announce, body = raw, answersAs = uid }: ScriptedMail): string {
  return `* 1 FETCH (UID ${answersAs} BODY[] {${announce ?? body.length}}\r\n${body})\r\n`
}

export const X = 'ann+x@mail.test'

/** For one test file: before each test a scripted server, which is no mail server, and a house with one alias. */
export function scriptForTests() {
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
    if (!parts.server) throw new Error('it is opened before each test')
    return parts.server
  }
  function fixture(): ImapFixture {
    if (!parts.fixture) throw new Error('it is opened before each test')
    return parts.fixture
  }

  return {
    server,
    fixture,
    /** Begins to fetch; whether it goes well is seen later. */
    open(changes: Partial<AccountOptions> = {}): void {
      parts.close = openAccount(fixture().deps, testAccountAt(server().port, changes)).close
    },
    close: async () => parts.close?.(),
    async start(changes: Partial<AccountOptions> = {}): Promise<void> {
      this.open(changes)
      await fixture().untilHealth('ok')
    },
    /** Puts mail into a folder and tells of it. */
    arrive(mail: Omit<ScriptedMail, 'raw'> & { raw?: string }, folder = 'INBOX'): ScriptedMail {
      const arrived = { raw: mailText({ To: X }, `uid ${mail.uid}`), ...mail }
      server().state.mails[folder]?.push(arrived)
      server().say(`* ${server().state.mails['INBOX']?.length} EXISTS`)
      return arrived
    },
    /** How often something was asked. */
    asked: (beginning: string) =>
      server().state.asked.filter((one) => one.startsWith(beginning)).length,
    /** Resolves when it is true; looked at again after each question that comes. */
    async seen(holds: () => boolean): Promise<void> {
      const { state } = server()
      const { answer } = state
      await new Promise<void>((resolve) => {
        state.answer = (command) => {
          setImmediate(() => holds() && resolve())
          return answer(command)
        }
      })
      state.answer = answer
    },
  }
}
