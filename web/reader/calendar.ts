/** The first event of an iCalendar file (RFC 5545), as far as an invitation needs it. */
export interface CalendarEvent {
  kind: 'invitation' | 'cancelled' | 'reply' | 'event'
  title: string
  place: string
  /** Empty if there is none. The name may be anybody's. */
  organizer: { name: string; address: string }
  start: CalendarTime
  /** Undefined if it is not given, or given as a duration. For whole days, the last one. */
  end: CalendarTime | undefined
  repeats: boolean
}

export type CalendarTime =
  | { kind: 'instant'; at: Date }
  /** A whole day, or a local time whose zone is not known. `zone` is its name, if it has one. */
  | { kind: 'day' | 'local'; at: Date; zone?: string | undefined }

const MAX_LENGTH = 200_000

/** Undefined if it is no calendar, or has no event that begins at some time. */
export function parseCalendar(text: string): CalendarEvent | undefined {
  const lines = unfold(text.slice(0, MAX_LENGTH))
  const from = lines.findIndex((line) => /^BEGIN:VEVENT$/i.test(line))
  if (from < 0) return undefined
  const event = propertiesOf(lines.slice(from + 1))
  const start = timeOf(event.get('DTSTART'))
  if (!start) return undefined
  const method = lines.find((line) => /^METHOD:/i.test(line))?.slice('METHOD:'.length)
  return {
    kind: kindOf(method, event.get('STATUS')?.value),
    title: textOf(event.get('SUMMARY')),
    place: textOf(event.get('LOCATION')),
    organizer: organizerOf(event.get('ORGANIZER')),
    start,
    end: lastOf(timeOf(event.get('DTEND'))),
    repeats: event.has('RRULE'),
  }
}

interface Property {
  parameters: string
  value: string
}

function unfold(text: string): string[] {
  return text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)
}

/** Of the event itself, not of its alarms. The first of several counts. */
function propertiesOf(lines: readonly string[]): Map<string, Property> {
  const found = new Map<string, Property>()
  for (const line of lines) {
    if (/^(?:BEGIN|END):/i.test(line)) break
    // A parameter may be quoted, and contain a colon then.
    const match = /^([A-Za-z-]+)((?:;[^":;]*(?:"[^"]*"[^":;]*)?)*):(.*)$/.exec(line)
    const [, name = '', parameters = '', value = ''] = match ?? []
    if (name && !found.has(name.toUpperCase())) found.set(name.toUpperCase(), { parameters, value })
  }
  return found
}

function kindOf(method = '', status = ''): CalendarEvent['kind'] {
  if (/^CANCEL/i.test(method) || /^CANCELLED/i.test(status)) return 'cancelled'
  if (/^(?:REPLY|COUNTER)/i.test(method)) return 'reply'
  return /^REQUEST/i.test(method) ? 'invitation' : 'event'
}

function textOf(property: Property | undefined): string {
  return (property?.value ?? '')
    .replace(/\\([\\;,nN])/g, (_, escaped: string) => (/n/i.test(escaped) ? ' ' : escaped))
    .replace(/\s+/g, ' ')
    .trim()
}

function organizerOf(property: Property | undefined): CalendarEvent['organizer'] {
  return {
    name: parameterOf(property, 'CN'),
    address: textOf(property).replace(/^mailto:/i, ''),
  }
}

function parameterOf(property: Property | undefined, name: string): string {
  const match = new RegExp(`;${name}=(?:"([^"]*)"|([^";:]*))`, 'i').exec(property?.parameters ?? '')
  return (match?.[1] ?? match?.[2] ?? '').trim()
}

const TIME = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?$/i

function timeOf(property: Property | undefined): CalendarTime | undefined {
  const match = TIME.exec(property?.value.trim() ?? '')
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const utc = Date.UTC(year, month - 1, day, hour, minute, second)
  if (match[4] === undefined) return { kind: 'day', at: new Date(utc) }
  if (match[7]) return { kind: 'instant', at: new Date(utc) }
  const zone = parameterOf(property, 'TZID')
  const clock = zone ? clockIn(zone) : undefined
  if (!clock) return { kind: 'local', at: new Date(utc), zone: zone || undefined }
  // At a change of the clock, the offset may be that of the other side.
  return { kind: 'instant', at: new Date(utc - offsetAt(clock, utc - offsetAt(clock, utc))) }
}

/** Undefined if the browser does not know the time zone, as the names of Windows. */
function clockIn(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
  } catch {
    return undefined
  }
}

function offsetAt(clock: Intl.DateTimeFormat, at: number): number {
  const parts = clock.formatToParts(at)
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value)
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  )
  return local - Math.floor(at / 1000) * 1000
}

const DAY_MS = 86_400_000

/** The end of whole days is the day after them. */
function lastOf(end: CalendarTime | undefined): CalendarTime | undefined {
  return end?.kind === 'day' ? { ...end, at: new Date(end.at.getTime() - DAY_MS) } : end
}
