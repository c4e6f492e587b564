import { hasErrorCode, OperatorError, Problem } from '../base/problem.ts'

interface SystemError extends Error {
  code?: unknown
  syscall?: unknown
  port?: unknown
}

/** The message of an error that the operator can fix, and how; undefined for others, which are printed with a stack trace. */
export function operatorMessage(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof OperatorError || error instanceof Problem) return error.message
  const { code, syscall, port }: SystemError = error
  if (syscall === 'listen') return `${error.message}. ${listenFix(String(code), Number(port))}`
  const fix = FIXES.find(([codes]) => hasErrorCode(error, ...codes))?.[1]
  if (fix !== undefined) return `${error.message}. ${fix}`
  // Other codes of SQLite are our own faults.
  if (/^SQLITE_(?:CORRUPT|NOTADB|IOERR)/.test(String(code)))
    return `${error.message} (${code}). ${DISK}`
  // A folder, file or host that cannot be used: the message names it.
  return syscall === undefined ? undefined : error.message
}

const LOWEST_FREE_PORT = 1_024

function listenFix(code: string, port: number): string {
  if (code === 'EADDRINUSE')
    return `Stop the program that uses the port (ss -ltnp 'sport = :${port}' shows it), or set MAYFLY_HTTP_PORT or MAYFLY_SMTP_PORT to a free port.`
  if (code === 'EACCES' && port < LOWEST_FREE_PORT)
    return `Ports below ${LOWEST_FREE_PORT} need a capability: AmbientCapabilities=CAP_NET_BIND_SERVICE in the systemd unit, or --cap-add NET_BIND_SERVICE for a container. Or set MAYFLY_SMTP_PORT and MAYFLY_HTTP_PORT to higher ports and redirect (docs/install.md).`
  if (code === 'EMFILE' || code === 'ENFILE') return FILES
  return 'Set MAYFLY_HOST to an address of this machine, or to :: for all of them.'
}

const FILES =
  'Raise the limit on open files: LimitNOFILE=65536 in the systemd unit, or ulimit -n 65536.'
const DISK =
  'Look for errors of the disk (dmesg), repair the file system, or restore a backup: docs/operations.md.'

const FIXES: readonly [codes: readonly string[], fix: string][] = [
  [['EMFILE', 'ENFILE'], FILES],
  [['ENOSPC', 'EDQUOT', 'SQLITE_FULL'], 'Free some space, or move MAYFLY_DATA to a larger disk.'],
  [
    ['SQLITE_BUSY', 'SQLITE_LOCKED'],
    'Another program has a database of MAYFLY_DATA open, such as sqlite3 or a copy: end it, and try again.',
  ],
  [
    ['SQLITE_CANTOPEN', 'SQLITE_READONLY'],
    'Make MAYFLY_DATA and its files writable for the user of the service.',
  ],
  [['ENOTFOUND', 'EAI_AGAIN'], 'Correct the name, or check the name servers of this machine.'],
]
