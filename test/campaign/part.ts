/** An attack on the promises that can be repeated in small batches. */
export interface Part {
  /** For `--part`. */
  name: string
  /** What is counted: kills, cuts, faults, inputs, minutes. */
  unit: string
  goal: number
  quickGoal: number
  /** The most that one call of `run` is asked for, a few minutes' worth: a campaign that is stopped loses one batch. */
  batch: number
  /** Why it cannot run here; undefined if it can. */
  problem?(): string | undefined
  /** Does this many more units and leaves nothing running. */
  run(order: BatchOrder): Promise<Batch>
}

export interface BatchOrder {
  count: number
  /** Units done by earlier batches: a seed that is never used twice. */
  done: number
  /** Shown until the next progress line. */
  report(text: string): void
}

export interface Batch {
  done: number
  /** Added up over all batches, such as mails that were looked for. */
  counts: Record<string, number>
  /** The largest of all batches is kept, such as sizes and latencies. */
  figures?: Record<string, number>
  /** What went wrong, each with what is needed to repeat it. */
  findings: string[]
}
