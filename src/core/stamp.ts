/** `YYYY-MM-DD HH:MM:SS`, UTC: the form of every time on the wire. */
export function stamp(time: Date): string {
  return isoStamp(time).slice(0, 19).replace('T', ' ')
}

/** The same second in ISO 8601 with `Z`, for programs that parse times. */
export function isoStamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

/** A time that may not have come, in both of our forms. */
export function stamps<Name extends string>(name: Name, time: Date | undefined) {
  return {
    [name]: time ? stamp(time) : null,
    [`${name}_iso`]: time ? isoStamp(time) : null,
  } as Record<Name | `${Name}_iso`, string | null>
}
