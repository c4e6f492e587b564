import type { ChildProcess } from 'node:child_process'

const MAX_HEARD = 8 * 1024
const MAX_TOLD = 300

/**
 * Resolves when the child says that it is ready. What it prints up to then is told when it does not start; no mail has
 * reached it yet. Later prints are thrown away.
 */
export function started(child: ChildProcess, name: string, startMs: number): Promise<void> {
  let clock: NodeJS.Timeout | undefined
  let heard = ''
  const listen = (chunk: Buffer) => {
    heard = (heard + chunk.toString('latin1')).slice(-MAX_HEARD)
  }
  child.stderr?.on('data', listen)
  return new Promise<void>((resolve, reject) => {
    const fail = (why: unknown) =>
      reject(new Error(`a ${name} child did not start (${why}): ${lastWords(heard)}`))
    child.once('message', () => resolve())
    child.once('error', (fault) => fail(fault.message))
    // Not 'exit': its last words may still be on their way then.
    child.once('close', (code, signal) => fail(signal ?? code))
    clock = setTimeout(() => {
      fail(`not within ${startMs} ms`)
      child.kill('SIGKILL')
    }, startMs).unref()
  }).finally(() => {
    clearTimeout(clock)
    child.stderr?.off('data', listen).resume()
  })
}

/** On one line, without the places in the code: the sentence of a fault stands above them. */
function lastWords(heard: string): string {
  const lines = heard.split('\n').filter((line) => /\w/.test(line) && !/^\s+at /.test(line))
  const words = lines.map((line) => line.trim()).join(' | ')
  return words.slice(-MAX_TOLD) || 'it said nothing'
}
