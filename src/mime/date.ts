/** A Date header as ISO 8601; null when it is no date, or none that a calendar of ours reaches. */
export function readDate(line: string): string | null {
  const text = line.slice(0, 100).replace(/\([^()]*\)/g, ' ')
  if (ISO.test(text)) return isoOrNull(Date.parse(text))
  const found = WRITTEN.exec(text)?.groups
  if (!found) return null
  const month = MONTHS.indexOf((found['month'] ?? '').toLowerCase())
  const [year, day, hour, minute, second] = [
    fullYear(found['year'] ?? ''),
    Number(found['day']),
    Number(found['hour']),
    Number(found['minute']),
    Number(found['second'] ?? 0),
  ]
  if (
    year < FIRST_YEAR ||
    month < 0 ||
    day < 1 ||
    day > 31 ||
    hour > 24 ||
    minute > 59 ||
    second > 60
  )
    return null
  const utc = Date.UTC(year, month, day, hour, minute, second)
  return isoOrNull(utc - zoneMinutes(found['zone'] ?? '') * 60_000)
}

const FIRST_YEAR = 1900
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const ISO = /^\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)\s*$/
// RFC 5322, and RFC 850 with its dashes. What follows the zone does not count.
const WRITTEN =
  /^\s*(?:[a-z]{3,9}\s{0,9},?\s{1,9})?(?<day>\d{1,2})(?:\s{1,9}|-)(?<month>[a-z]{3})[a-z]{0,6}(?:\s{1,9}|-)(?<year>\d{2,6})\s{1,9}(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d))?(?:\s{0,9}(?<zone>[+-]\d{4}|[a-z]{1,5}))?/i

/** RFC 5322 4.3. */
function fullYear(text: string): number {
  const year = Number(text)
  if (text.length === 2) return year < 50 ? year + 2000 : year + 1900
  return text.length === 3 ? year + 1900 : year
}

const ZONES: Partial<Record<string, number>> = {
  EDT: -4,
  EST: -5,
  CDT: -5,
  CST: -6,
  MDT: -6,
  MST: -7,
  PDT: -7,
  PST: -8,
}

function zoneMinutes(zone: string): number {
  const digits = /^([+-])(\d\d)(\d\d)$/.exec(zone)
  if (!digits) return (ZONES[zone.toUpperCase()] ?? 0) * 60
  const minutes = Number(digits[2]) * 60 + Number(digits[3])
  return digits[1] === '-' ? -minutes : minutes
}

function isoOrNull(time: number): string | null {
  // Outside these years ISO 8601 needs a sign and more digits, which few programs read.
  return time >= Date.UTC(FIRST_YEAR, 0) && time < Date.UTC(10_000, 0)
    ? new Date(time).toISOString()
    : null
}
