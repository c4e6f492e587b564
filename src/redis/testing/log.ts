import type { Log } from '../../core/log.ts'

/** Keeps what was said, each line as one text. */
export function recordingLog() {
  const lines: string[] = []
  const keep = (level: string) => (facts: object, sentence: string) => {
    lines.push(`${level} ${sentence} ${JSON.stringify(facts)}`)
  }
  const log: Log = {
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  }
  return { log, lines }
}
