import type { Command } from 'commander'
import { type CliContext, program } from '../src/cli/commands.ts'
import { completion } from '../src/cli/completion.ts'

// mayfly(1) and the completion of bash, made from the commands themselves.

/** The commands with their full names, such as `domain add`; groups of commands are left out. */
function commands(parent: Command, path: string[] = []): { name: string; command: Command }[] {
  return parent.commands.flatMap((command) => {
    const names = [...path, command.name()]
    if (command.commands.length > 0) return commands(command, names)
    return [{ name: names.join(' '), command }]
  })
}

const describe = (version: string) => program({ version } as CliContext, () => {})

export function manualPage(version: string, date: string): string {
  const mayfly = describe(version)
  return [
    `.TH MAYFLY 1 ${date} "mayfly ${version}"`,
    '.SH NAME',
    'mayfly \\- self-hosted disposable email service',
    '.SH SYNOPSIS',
    '.B mayfly',
    '.I command',
    '[\\fIoption\\fR ...]',
    '.SH DESCRIPTION',
    prose(mayfly.description()),
    '.PP',
    'Settings are read from the environment or from',
    '\\fImayfly.config.json\\fR in the working directory.',
    '\\fBmayfly config\\fR lists all of them with their values and meanings.',
    '.SH COMMANDS',
    ...commands(mayfly).flatMap(({ name, command }) => commandSection(name, command)),
    '.SH EXIT STATUS',
    '0 on success, 1 if the command failed, 2 if the command line is invalid.',
    '.SH FILES',
    '.TP',
    '.I /etc/mayfly/mayfly.env',
    'Settings of the service (Debian package). The command reads them too.',
    '.TP',
    '.I /var/lib/mayfly',
    'Mail and keys (Debian package).',
    '',
  ].join('\n')
}

function commandSection(name: string, command: Command): string[] {
  const options = command.options.flatMap(({ flags, description }) => [
    '.RS',
    '.TP',
    `.B ${text(flags)}`,
    prose(description),
    '.RE',
  ])
  const args = command.registeredArguments.map((one) =>
    one.required ? one.name() : `[${one.name()}]`,
  )
  const title = `.B mayfly ${text([name, ...args].join(' '))}`
  return ['.TP', title, prose(`${command.description()}.`), ...options]
}

/** In lines of the length that is recommended for manual pages. */
function prose(plain: string): string {
  return text(plain.replaceAll(/(.{1,70})(?:\s+|$)/g, '$1\n').trimEnd())
}

/** Escaped for roff, which gives a meaning to backslashes, leading dots and hyphens. */
function text(plain: string): string {
  return plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1')
}

export function bashCompletion(version: string): string {
  return completion(describe(version), 'bash')
}
