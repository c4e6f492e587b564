const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Whole seconds, of `90s`, `15m`, `24h` or `30d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,10})([smhd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (SECONDS[unit] ?? 1)
}

/** The shortest of those forms that says exactly this. */
export function showDuration(seconds: number): string {
  const [unit, length] = Object.entries(SECONDS)
    .toReversed()
    .find(([, length]) => seconds > 0 && seconds % length === 0) ?? ['s', 1]
  return `${seconds / length}${unit}`
}
