import type { LogFacts } from '../../core/log.ts'

/** A log that remembers its lines. */
export function recordingLog() {
  const lines: { level: string; facts: LogFacts; sentence: string }[] = []
  const at = (level: string) => (facts: LogFacts, sentence: string) => {
    lines.push({ level, facts, sentence })
  }
  return { lines, log: { warn: at('warn'), error: at('error') } }
}
