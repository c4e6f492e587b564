import type { LogFacts } from '../../base/log/log.ts'

export function recordingLog() {
  const lines: { level: string; facts: LogFacts; message: string }[] = []
  const at = (level: string) => (facts: LogFacts, message: string) => {
    lines.push({ level, facts, message })
  }
  return { lines, log: { warn: at('warn'), error: at('error') } }
}
