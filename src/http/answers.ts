/** An answer that has been made once, good as long as its mailbox has this version. */
interface KeptAnswer {
  version: number
  body: Buffer
}

export interface Answers {
  /** Undefined unless one was kept for exactly this version. */
  find(key: string, version: number): Buffer | undefined
  keep(key: string, version: number, body: Buffer): void
}

// What a Map entry costs beside the body, roughly.
const ENTRY_BYTES = 200

/** The serialised lists that were asked for last, within a number of bytes. */
export function keepAnswers(maxBytes: number): Answers {
  const kept = new Map<string, KeptAnswer>()
  let bytes = 0

  function drop(key: string, answer: KeptAnswer): void {
    kept.delete(key)
    bytes -= answer.body.length + ENTRY_BYTES
  }

  return {
    find(key, version) {
      const answer = kept.get(key)
      if (answer?.version !== version) return undefined
      // A Map remembers the order of insertion: what was asked for last stands last.
      kept.delete(key)
      kept.set(key, answer)
      return answer.body
    },
    keep(key, version, body) {
      const former = kept.get(key)
      if (former) drop(key, former)
      kept.set(key, { version, body })
      bytes += body.length + ENTRY_BYTES
      for (const [oldest, answer] of kept) {
        if (bytes <= maxBytes) break
        drop(oldest, answer)
      }
    },
  }
}
