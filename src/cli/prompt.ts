import { createInterface } from 'node:readline/promises'

/** An empty answer is the proposal. */
export type Ask = (question: string, proposal: string) => Promise<string>

export function openPrompt(): { ask: Ask; close(): void } {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  return {
    async ask(question, proposal) {
      const hint = proposal === '' ? '' : ` [${proposal}]`
      return (await lines.question(`${question}${hint}: `)).trim() || proposal
    },
    close: () => lines.close(),
  }
}
