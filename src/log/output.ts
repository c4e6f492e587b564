import { writeSync } from 'node:fs'
import { hasCode } from '../core/fault.ts'

const NEW_LINE = 10
const BUSY_MS = 10
const never = new Int32Array(new SharedArrayBuffer(4))

/**
 * Writes whole lines, and swallows what goes wrong: there is nowhere left to tell it, and a full disk under the log is
 * no reason to stop taking mail. The next line is tried anew.
 */
export function lineWriter(
  write: (bytes: Uint8Array) => number = (bytes) => writeSync(1, bytes),
): (line: string) => void {
  let torn = false
  return (line) => {
    // Behind half a line, a line of its own is still one.
    const bytes = Buffer.from(torn ? `\n${line}` : line)
    let done = 0
    while (done < bytes.length) {
      try {
        done += write(bytes.subarray(done))
      } catch (fault) {
        // A pipe that does not block and whose reader is behind.
        if (!hasCode(fault, 'EAGAIN')) break
        Atomics.wait(never, 0, 0, BUSY_MS)
      }
    }
    if (done > 0) torn = bytes[done - 1] !== NEW_LINE
  }
}
