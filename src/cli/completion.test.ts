import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { type CliContext, program } from './commands.ts'
import { completion } from './completion.ts'

const mayfly = program({ version: '1' } as CliContext, () => {})

/** What bash offers for the last word. */
function offered(...words: string[]): string[] {
  const script = `${completion(mayfly, 'bash')}
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mayfly; echo "\${COMPREPLY[*]}"`
  const stdout = execFileSync('bash', ['-c', script, 'bash', 'mayfly', ...words])
  return stdout.toString().trim().split(' ').filter(Boolean)
}

describe('in bash', () => {
  for (const [words, expected] of [
    [['dom'], ['domain']],
    [
      ['domain', 'a'],
      ['add', 'activate'],
    ],
    [['domain', 'list', '--j'], ['--json']],
    [['domain', 'add', 'box.test', '--tt'], ['--ttl']],
    [['inbox', '--prefix', 'serve', '--on'], ['--once']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', '--help'],
    ],
    [['nothing', 'of', 'ours'], []],
  ] as const) {
    test(`mayfly ${words.join(' ')}`, () => expect(offered(...words)).toEqual(expected))
  }
})

function inQuotes(text: string, shell: 'zsh' | 'fish'): string {
  return text.replaceAll("'", shell === 'zsh' ? `'\\''` : `\\'`)
}

for (const shell of ['zsh', 'fish'] as const) {
  test(`every command and option is in the script for ${shell}, with its description`, () => {
    const script = completion(mayfly, shell)
    const [domain] = mayfly.commands.filter((one) => one.name() === 'domain')
    for (const command of [...mayfly.commands, ...(domain?.commands ?? [])]) {
      expect(script).toContain(command.name())
      expect(script).toContain(inQuotes(command.description(), shell))
      for (const { long } of command.options) expect(script).toContain(long?.slice(2))
    }
  })
}
