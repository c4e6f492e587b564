import type { Log, LogFacts } from '../../src/base/log/log.ts'

/** A log that keeps its entries, and each as one line of text. */
export function recordingLog() {
  const entries: { level: string; facts: LogFacts; message: string }[] = []
  const lines: string[] = []
  const record = (level: string) => (facts: LogFacts, message: string) => {
    entries.push({ level, facts, message })
    lines.push(`${level} ${message} ${JSON.stringify(facts)}`)
  }
  const log: Log = {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
  }
  return { log, entries, lines }
}
