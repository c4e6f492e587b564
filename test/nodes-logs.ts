import assert from 'node:assert/strict'

// What a node must say of an outage, and of its beginning and end.
const EXPECTED = [
  'the store cannot be reached; who asks is told to come back',
  'Redis is away: who waits for mail looks by himself, rates are counted by each node',
  'a lease could not be renewed; its work stops here',
]

interface LogLine {
  level: string
  msg: string
}

/** The nodes speak of what was down, of no fault of their own, and never a secret. */
export function holdLogs(output: string, secrets: Iterable<string>): void {
  const lines = output.split('\n')
  const unexpected = lines.filter((line) => (line.startsWith('{') ? isFault(line) : isTrace(line)))
  assert.deepEqual(unexpected, [])
  for (const secret of secrets) assert.ok(!output.includes(secret), 'a secret stands in the log')
}

function isFault(line: string): boolean {
  // The last line of a node that was killed.
  if (!line.endsWith('}')) return false
  const { level, msg } = JSON.parse(line) as LogLine
  return level === 'error' || (level === 'warn' && !EXPECTED.includes(msg))
}

/** Of the runtime: a warning, or an error that nobody caught. */
function isTrace(line: string): boolean {
  return /^\s+at .*:\d+\)?$|Error|Warning/.test(line)
}
