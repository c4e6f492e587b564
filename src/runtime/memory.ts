import { totalmem } from 'node:os'
import { size } from '../base/settings/values.ts'

const MB = 1024 ** 2
// With as much or more, every limit has its highest value.
const ENOUGH_BYTES = 2_048 * MB
// Below, there is room for one thread and one parser.
const SMALL_BYTES = 768 * MB

/** A size, or what the machine or the control group of this process has. */
export function memorySize(given: string): number {
  if (given !== 'auto') return size('256MB')(given)
  // 0 if it is unknown, and a huge number if there is no limit.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}

/** Limits of caches, queues, threads and child processes that fit into this much memory, for all threads together. */
export function memoryLimits(bytes: number) {
  const share = Math.min(1, bytes / ENOUGH_BYTES)
  const isSmall = bytes < SMALL_BYTES
  return {
    /** Of old objects in each thread but the main one and those of SMTP. */
    threadMb: Math.min(1_536, Math.max(256, Math.floor(bytes / 2 / MB))),
    /** Most threads of a kind, unless their number is set. */
    threads: isSmall ? 1 : 4,
    /** Of mail on its way from a sender to the store: at least one of the largest size, in a buffer that doubles as it grows. */
    mailBytes: Math.max(64 * MB, Math.floor(256 * MB * share)),
    /** Of responses that slow clients have yet to receive. */
    sendBytes: isSmall ? 32 * MB : Math.floor(256 * MB * share),
    /**
     * In an SMTP thread, where a connection leaves the most. Only with 2 GB or more for old objects, V8 lets buffers and objects grow to
     * four times what is in use, not two, before it collects garbage.
     */
    smtpHeap: isSmall ? { maxOldMb: 256, maxYoungMb: 12 } : { maxOldMb: 4_096, maxYoungMb: 48 },
    /** Of mail whose sender is being checked. */
    checkBytes: Math.floor(64 * MB * share),
    responseCacheBytes: Math.floor(64 * MB * share),
    children: isSmall ? 1 : 2,
    /** Of each child process. */
    childMb: isSmall ? 256 : 512,
  }
}

export type MemoryLimits = ReturnType<typeof memoryLimits>
