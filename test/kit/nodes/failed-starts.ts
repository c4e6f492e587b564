import { isNode, type NodeName } from './cluster-config.ts'

/** In milliseconds of the clock of a history. */
interface Interval {
  start: number
  end: number
}

export interface FailedStart extends Interval {
  name: NodeName
  /** With everything that it has printed. */
  message: string
}

interface Injected extends Interval {
  kind: string
  /** The machine. */
  on: string
}

const KILLED = /ended with null/

/** A node may not start during an outage, or if it is killed again. */
export function ignoreOutage(fault: Error): void {
  const expected = /PostgreSQL|[Ss]tore is unavailable|is not up after/
  if (!expected.test(fault.message) && !KILLED.test(fault.message)) throw fault
}

// These start the node themselves.
const RESTARTS = /^node (killed|restarted)/
/** After a fault, until there is a primary again. */
const FAILOVER_MS = 30_000

/** Nodes that did not start although no fault prevented it. */
export function unexplainedStarts(
  failed: readonly FailedStart[],
  faults: readonly Injected[],
): string[] {
  const isExplained = ({ name, start, end, message }: FailedStart) =>
    faults.some((fault) => {
      const isMeanwhile = fault.start < end && start < fault.end + FAILOVER_MS
      const isOwn = fault.on === name
      if (!isMeanwhile || KILLED.test(message)) return isMeanwhile && isOwn
      return isOwn ? !RESTARTS.test(fault.kind) : !isNode(fault.on) && fault.on !== 'redis'
    })
  return failed
    .filter((one) => !isExplained(one))
    .map(({ name, message }) => `${name} did not start: ${message.slice(0, 1_000)}`)
}
