import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrorCode, toError } from '../base/problem.ts'
import type { TlsEntry, TlsKind, TlsStore } from './store.ts'

export type OnUnreadable = (path: string, error: Error) => void

const SUFFIX = {
  account: '.account.json',
  certificate: '.pem',
  attempts: '.attempts.json',
} as const satisfies Record<Exclude<TlsKind, 'challenge'>, string>

const UNREADABLE = ['EACCES', 'EPERM', 'EISDIR', 'ELOOP']
const NAME = /^[a-z0-9][a-z0-9.-]{0,252}$/

/**
 * Certificates in files of a folder, for a single node. Readable by the user of the service only, and replaced atomically. A file
 * that cannot be read is reported once, until it is read or deleted.
 */
export function openTlsFiles(folder: string, onUnreadable: OnUnreadable): TlsStore {
  // They last for seconds, and only this process responds to them.
  const challenges = new Map<string, TlsEntry>()
  const reported = new Set<string>()

  function pathOf(kind: keyof typeof SUFFIX, name: string): string {
    if (!NAME.test(name)) throw new Error(`not a name of a certificate: ${name}`)
    return join(folder, `${name}${SUFFIX[kind]}`)
  }

  return {
    async listTlsEntries(kind) {
      if (kind === 'challenge') return [...challenges.values()]
      const suffix = SUFFIX[kind]
      const names = (await readdir(folder).catch(emptyIfMissing))
        .filter((file) => file.endsWith(suffix) && NAME.test(file))
        .map((file) => file.slice(0, -suffix.length))
        .toSorted()
      const paths = new Set(names.map((name) => pathOf(kind, name)))
      for (const path of reported)
        if (path.endsWith(suffix) && !paths.has(path)) reported.delete(path)
      const entries = names.map(async (name): Promise<TlsEntry[]> => {
        const path = pathOf(kind, name)
        try {
          const value = await readFile(path, 'utf8')
          reported.delete(path)
          return [{ kind, name, value }]
        } catch (error) {
          // Deleted meanwhile.
          if (hasErrorCode(error, 'ENOENT')) return []
          // The others are faults of the moment, such as too many open files: without its certificate, a name would get a new key.
          if (!hasErrorCode(error, ...UNREADABLE)) throw error
          if (!reported.has(path)) onUnreadable(path, toError(error))
          reported.add(path)
          return [{ kind, name, value: '', isUnreadable: true }]
        }
      })
      return (await Promise.all(entries)).flat()
    },

    async saveTlsEntry(entry) {
      const { kind, name, value } = entry
      if (kind === 'challenge') challenges.set(name, entry)
      else await replaceFile(folder, pathOf(kind, name), value)
    },

    async deleteTlsEntry(kind, name) {
      if (kind === 'challenge') challenges.delete(name)
      else await rm(pathOf(kind, name), { force: true })
    },
  }
}

async function replaceFile(folder: string, path: string, content: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = `${path}.new`
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
}

function emptyIfMissing(error: unknown): string[] {
  if (hasErrorCode(error, 'ENOENT')) return []
  throw error
}
