/** `YYYY-MM-DD HH:MM:SS`, UTC: the form of every time on the wire. */
export function stamp(time: Date): string {
  return isoStamp(time).slice(0, 19).replace('T', ' ')
}

/** The same second in ISO 8601 with `Z`, for programs that parse times. */
export function isoStamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}
