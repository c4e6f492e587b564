import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

const SERVERS = [
  '/usr/local/sbin',
  '/usr/sbin',
  ...[17, 15].map((version) => `/usr/lib/postgresql/${version}/bin`),
]

/** Where a program lies. Debian keeps servers in folders that are not on everybody's PATH. */
export function pathOf(command: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...SERVERS]
  return folders.map((folder) => join(folder, command)).find(isProgram)
}

/** The same, or an error that says what to install. */
export function needed(command: string, debianPackage: string): string {
  const path = pathOf(command)
  if (path) return path
  throw new Error(`${command} is not here. On Debian: apt-get install ${debianPackage}`)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
