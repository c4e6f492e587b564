import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { fetchAnswer, type ScriptedMail, uidsIn } from './scripted-mail.ts'

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
