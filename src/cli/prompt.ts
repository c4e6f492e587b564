import { createInterface } from 'node:readline/promises'
import { hasErrorCode } from '../base/problem.ts'
import { CommandError } from './output.ts'

/** An empty answer is the proposal. */
export type Ask = (question: string, proposal: string) => Promise<string>

/** Ctrl+C and Ctrl+D end the command. */
export function openPrompt(): { ask: Ask; close(): void } {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  const closed = new AbortController()
  lines.once('close', () => closed.abort())
  return {
    async ask(question, proposal) {
      const hint = proposal === '' ? '' : ` [${proposal}]`
      const asked = lines.question(`${question}${hint}: `, { signal: closed.signal })
      const answer = await asked.catch((error: unknown) => {
        throw hasErrorCode(error, 'ABORT_ERR') ? new CommandError('\nNothing was written.') : error
      })
      return answer.trim() || proposal
    },
    close: () => lines.close(),
  }
}
