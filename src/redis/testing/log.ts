import type { Log } from '../../base/log/log.ts'

/** Records every log line as one string. */
export function recordingLog() {
  const lines: string[] = []
  const record = (level: string) => (facts: object, message: string) => {
    lines.push(`${level} ${message} ${JSON.stringify(facts)}`)
  }
  const log: Log = {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
  }
  return { log, lines }
}
