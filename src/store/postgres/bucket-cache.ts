const REMEMBERED = 20_000

/**
 * Where mail was last seen to lie. A statement names its buckets, so they must be known before; it also says which they
 * are, and when those are others it is asked again. So what is remembered saves a question and decides nothing.
 */
export function openBucketCache() {
  const places = new Map<string, string>()

  function remember(whose: string, buckets: string): void {
    places.delete(whose)
    if (places.size >= REMEMBERED) {
      const [eldest = ''] = places.keys()
      places.delete(eldest)
    }
    places.set(whose, buckets)
  }

  return {
    remember,
    /** Asks until the answer comes from where the mail lies. `at` of the first row tells; without any row there is no mail. */
    async ask<Row extends { at: string }>(
      whose: string,
      question: (buckets: string) => Promise<Row[]>,
    ): Promise<Row[]> {
      for (;;) {
        const buckets = places.get(whose) ?? ''
        const rows = await question(buckets)
        const at = rows[0]?.at ?? buckets
        if (at === buckets) return rows
        remember(whose, at)
      }
    },
  }
}

export type BucketCache = ReturnType<typeof openBucketCache>
