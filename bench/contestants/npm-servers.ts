import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ServerProcess, startProgram } from '../tools/processes.ts'
import { progress } from '../tools/report.ts'

// Mail servers from npm that are not dependencies: installed on first use, without install scripts and optional packages.

export const NPM_SERVERS = ['Haraka@3.3.4', 'maildev@3.0.0']
// Newer versions of their dependencies are ignored, so that every machine runs the same code.
const RELEASED_BEFORE = '2026-10-01'
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/mayfly-bench', import.meta.url))
const MODULES = join(FOLDER, NPM_SERVERS.join('-'))

/** The node_modules folder with both, or undefined if they cannot be downloaded. */
export function installNpmServers(): string | undefined {
  const modules = join(MODULES, 'node_modules')
  if (existsSync(modules)) return modules
  progress(`Installing ${NPM_SERVERS.join(' and ')}`)
  // Installed elsewhere first: an interrupted installation is not used.
  const scratch = join(FOLDER, 'installing')
  rmSync(scratch, { recursive: true, force: true })
  mkdirSync(scratch, { recursive: true })
  try {
    const options = ['--no-save', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund']
    execFileSync(
      'npm',
      ['install', '--prefix', scratch, `--before=${RELEASED_BEFORE}`, ...options, ...NPM_SERVERS],
      { stdio: ['ignore', 'ignore', 'inherit'], timeout: 300_000 },
    )
  } catch (error) {
    progress(String(error))
    return undefined
  }
  renameSync(scratch, MODULES)
  return modules
}

/**
 * Haraka with its own queue/test plugin: a file per mail, not synced. It accepts mail for box.test, looks nothing up in DNS,
 * and runs as many processes as given.
 */
export function startHaraka(
  modules: string,
  { folder, port, processes }: { folder: string; port: number; processes: string },
): Promise<ServerProcess> {
  const write = (name: string, ...lines: string[]) =>
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
  cpSync(join(modules, 'Haraka/config'), join(folder, 'config'), { recursive: true })
  for (const name of ['plugins', 'mail']) mkdirSync(join(folder, name))
  write('config/smtp.ini', `listen=127.0.0.1:${port}`, `nodes=${processes}`)
  write('config/log.ini', '[main]', 'level=crit', 'format=default')
  write('config/me', 'haraka.test')
  write('config/host_list', 'box.test')
  write('config/plugins', 'no_reverse_lookup', 'rcpt_to.in_host_list', 'queue/test')
  write(
    'plugins/no_reverse_lookup.js',
    "exports.hook_lookup_rdns = (next) => next(OK, 'sender.test')",
  )
  const env = { HARAKA: folder, TMPDIR: join(folder, 'mail') }
  return startProgram([join(modules, 'Haraka/haraka.js')], { port, env })
}

/** maildev parses each mail and writes it to a file, not synced. Its web interface is off, and it keeps the last 10,000. */
export function startMaildev(
  modules: string,
  { folder, port }: { folder: string; port: number },
): Promise<ServerProcess> {
  const options = ['--silent', '--disable-web', '--max-emails=10000', `--mail-directory=${folder}`]
  return startProgram(
    [
      join(modules, 'maildev/dist/bin/maildev.js'),
      ...['--ip=127.0.0.1', `--smtp=${port}`],
      ...options,
    ],
    { port },
  )
}
