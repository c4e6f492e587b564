import { afterEach, beforeEach } from 'vitest'
import { openAccount } from '../account.ts'
import type { AccountOptions } from '../options.ts'
import { testAccountAt } from './account.ts'
import { type ImapFixture, mailText, openImapFixture } from './fixture.ts'
import { openScriptedImap, type ScriptedImap } from './scripted-imap.ts'
import type { ScriptedMail } from './scripted-mail.ts'

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
