import { hasCode } from '../../core/problem.ts'

/** Nobody's fault: the client went away while we were at it. */
class HungUp extends Error {}

export function hungUp(): Error {
  return new HungUp('the client hung up')
}

export function isHangUp(error: unknown): boolean {
  return error instanceof HungUp || hasCode(error, ...BROKEN_OFF)
}

const BROKEN_OFF = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE']
