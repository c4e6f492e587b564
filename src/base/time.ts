const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds in `90s`, `15m`, `24h` or `30d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,10})([smhd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (SECONDS[unit] ?? 1)
}

/** The shortest exact form: `90s`, `15m`, `24h`, `30d`. */
export function formatDuration(seconds: number): string {
  const [unit, length] = Object.entries(SECONDS)
    .toReversed()
    .find(([, length]) => seconds > 0 && seconds % length === 0) ?? ['s', 1]
  return `${seconds / length}${unit}`
}

/** `YYYY-MM-DD HH:MM:SS` in UTC, the format of times in the API. */
export function utcTimestamp(time: Date): string {
  return isoTimestamp(time).slice(0, 19).replace('T', ' ')
}

/** The same in ISO 8601 with `Z`. */
export function isoTimestamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

/** A time in both formats: `name` and `name_iso`; null if there is none. */
export function timestampFields<Name extends string, Time extends Date | undefined>(
  name: Name,
  time: Time,
) {
  type Text = undefined extends Time ? string | null : string
  return {
    [name]: time ? utcTimestamp(time) : null,
    [`${name}_iso`]: time ? isoTimestamp(time) : null,
  } as Record<Name | `${Name}_iso`, Text>
}

/** Exponential backoff, in any unit of time. */
export interface Backoff {
  /** Delay after the first failure. */
  first: number
  max: number
}

/** Delay after this many failures in a row: doubles with each of them, up to the maximum; 0 after none. */
export function backoffDelay(failures: number, { first, max }: Backoff): number {
  return failures <= 0 ? 0 : Math.min(max, first * 2 ** (failures - 1))
}

/** A random part of the delay, so that clients which failed together do not retry together. `random` is from 0 to 1. */
export function withJitter(delay: number, random: number, least = 0.5, most = 1): number {
  return delay * (least + random * (most - least))
}
