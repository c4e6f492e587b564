import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

// Part of every bundled program: stack traces name the files of src. With --enable-source-maps, Node.js would read the maps of
// all modules at start, in every thread, which costs 0.25 s and 36 MB; this reads a map when an error is first formatted.

const BUILT = /(file:\/\/\/\S+\.js):(\d+):(\d+)/
const maps = new Map<string, SourceMap | undefined>()

Error.prepareStackTrace = (error, frames) => {
  const locate = isOfReport(error) ? (built: string) => built : sourceLocation
  const lines = frames.map((frame) => `    at ${String(frame).replace(BUILT, locate)}`)
  return [headline(error), ...lines].join('\n')
}

/** True if the error comes from a diagnostic report. better-sqlite3 has one made in each thread at its start, to learn which C library there is. */
function isOfReport(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SYNTHETIC'
}

/** As without this module, also for objects that cannot be converted to a string. */
function headline(error: unknown): string {
  try {
    return String(error)
  } catch {
    return '<error>'
  }
}

function sourceLocation(built: string, file: string, line: string, column: string): string {
  const origin = mapOf(file)?.findOrigin(Number(line), Number(column))
  if (!origin || !('fileName' in origin)) return built
  return `${new URL(origin.fileName, file).href}:${origin.lineNumber}:${origin.columnNumber}`
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file))
  return maps.get(file)
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')))
  } catch {
    // Not one of ours.
    return undefined
  }
}
