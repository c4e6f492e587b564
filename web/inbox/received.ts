const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** When a message came, as a list says it: how long ago if that was today, else the day. */
export function receivedText(at: Date, now: Date, language: string): string {
  const { ago, day, year } = formatsOf(language)
  const past = Math.max(0, now.getTime() - at.getTime())
  if (past < MINUTE) return ago.format(0, 'second')
  if (past < HOUR) return ago.format(-Math.floor(past / MINUTE), 'minute')
  if (at.toDateString() === now.toDateString()) return ago.format(-Math.floor(past / HOUR), 'hour')
  return at.getFullYear() === now.getFullYear() ? day.format(at) : year.format(at)
}

type Formats = ReturnType<typeof makeFormats>
const made = new Map<string, Formats>()

/** Each takes longer to make than to use a thousand times. */
function formatsOf(language: string): Formats {
  const formats = made.get(language) ?? makeFormats(language)
  made.set(language, formats)
  return formats
}

function makeFormats(language: string) {
  return {
    ago: new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' }),
    day: new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' }),
    year: new Intl.DateTimeFormat(language, { dateStyle: 'medium' }),
  }
}
