import { Argument, type Command } from 'commander'
import type { Print } from './output.ts'

const SHELLS = { bash, zsh, fish } as const
type Shell = keyof typeof SHELLS

export function addCompletionCommand(mayfly: Command, print: Print): void {
  mayfly
    .command('completion')
    .description('Print a completion script for a shell: source <(mayfly completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
    .action((shell: Shell) => print(completion(mayfly, shell).trimEnd()))
}

/** A script that completes commands and options, made from the commands themselves. */
export function completion(mayfly: Command, shell: Shell): string {
  return SHELLS[shell](commandPaths(mayfly))
}

interface CommandPath {
  /** Such as `domain add`; empty for the program itself. */
  path: string
  words: Word[]
}

interface Word {
  text: string
  description: string
  takesValue: boolean
}

function commandPaths(command: Command, path = ''): CommandPath[] {
  const words = [
    ...command.commands.map((one) => word(one.name(), one.description())),
    ...command.registeredArguments
      .flatMap((one) => one.argChoices ?? [])
      .map((one) => word(one, '')),
    ...command.options.map(({ long, description, required }) =>
      word(long ?? '', description, required),
    ),
    word('--help', 'show help'),
  ]
  return [
    { path, words: words.filter(({ text }) => text !== '') },
    ...command.commands.flatMap((one) => commandPaths(one, `${path} ${one.name()}`.trim())),
  ]
}

function word(text: string, description: string, takesValue = false): Word {
  return { text, description, takesValue }
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Values of options and arguments are no commands: only known paths are followed. */
const knownPaths = (paths: readonly CommandPath[]) =>
  paths.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join('|')

function bash(paths: CommandPath[]): string {
  return `# bash completion for mayfly
_mayfly() {
  local at='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in ${knownPaths(paths)}) at="\${at:+$at }$word" ;; esac
  done
  case $at in
${paths.map(({ path, words }) => `    ${quoted(path)}) words=${quoted(words.map(({ text }) => text).join(' '))} ;;`).join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _mayfly mayfly
`
}

function zsh(paths: CommandPath[]): string {
  const item = ({ text, description }: Word) => quoted(`${text}:${description}`)
  return `#compdef mayfly
_mayfly() {
  local at='' word
  local -a items
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in ${knownPaths(paths)}) at="\${at:+$at }$word" ;; esac
  done
  case $at in
${paths.map(({ path, words }) => `    ${quoted(path)}) items=(${words.map(item).join(' ')}) ;;`).join('\n')}
  esac
  _describe mayfly items || _files
}
if [[ \${funcstack[1]} == _mayfly ]]; then _mayfly "$@"; else compdef _mayfly mayfly; fi
`
}

function fish(paths: CommandPath[]): string {
  const escaped = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`
  const line = (path: string, { text, description, takesValue }: Word) => {
    const option = `-l ${text.slice(2)}${takesValue ? ' -r' : ''}`
    const what = text.startsWith('--') ? option : `-f -a ${text}`
    return `complete -c mayfly -n ${escaped(`__mayfly_at '${path}'`)} ${what} -d ${escaped(description)}`
  }
  return `# fish completion for mayfly
function __mayfly_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$at $word")
        contains -- "$next" ${knownPaths(paths).replaceAll('|', ' ')}; and set at "$next"
    end
    test "$at" = "$argv[1]"
end
${paths.flatMap(({ path, words }) => words.map((one) => line(path, one))).join('\n')}
`
}
