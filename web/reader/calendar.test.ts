import { describe, expect, test } from 'vitest'
import { parseCalendar } from './calendar.ts'

const calendar = (...event: string[]) =>
  [
    'BEGIN:VCALENDAR',
    'METHOD:REQUEST',
    'BEGIN:VEVENT',
    ...event,
    'END:VEVENT',
    'END:VCALENDAR',
  ].join('\r\n')

describe('an event', () => {
  for (const [name, start, expected] of [
    ['in UTC', 'DTSTART:20260309T090000Z', ['instant', '2026-03-09T09:00:00.000Z']],
    [
      'in a time zone, in winter',
      'DTSTART;TZID=Europe/Berlin:20260309T090000',
      ['instant', '2026-03-09T08:00:00.000Z'],
    ],
    [
      'in a time zone, in summer',
      'DTSTART;TZID="America/New_York":20260709T090000',
      ['instant', '2026-07-09T13:00:00.000Z'],
    ],
    [
      'an hour after the clock changed',
      'DTSTART;TZID=Europe/Berlin:20260329T030000',
      ['instant', '2026-03-29T01:00:00.000Z'],
    ],
    [
      'in a zone that browsers do not know',
      'DTSTART;TZID=Romance Standard Time:20260309T090000',
      ['local', '2026-03-09T09:00:00.000Z', 'Romance Standard Time'],
    ],
    ['in no zone', 'DTSTART:20260309T090000', ['local', '2026-03-09T09:00:00.000Z']],
    ['on a whole day', 'DTSTART;VALUE=DATE:20260309', ['day', '2026-03-09T00:00:00.000Z']],
  ] as const) {
    test(`${name} begins at that time`, () => {
      const begin = parseCalendar(calendar(start))?.start
      const zone = begin && 'zone' in begin && begin.zone ? [begin.zone] : []
      expect([begin?.kind, begin?.at.toISOString(), ...zone]).toStrictEqual(expected)
    })
  }

  test('has a title, a place and an organizer, unfolded and unescaped', () => {
    const event = parseCalendar(
      calendar(
        'SUMMARY:Stand-up\\, week',
        ' ly',
        'LOCATION;LANGUAGE=en:Room 1\\nFloor 2',
        'ORGANIZER;CN="Reyes: Dana";SENT-BY="mailto:x@acme.test":mailto:dana@acme.test',
        'DTSTART;VALUE=DATE:20260309',
        'DTEND;VALUE=DATE:20260311',
        'RRULE:FREQ=WEEKLY',
        'BEGIN:VALARM',
        'SUMMARY:Alarm',
      ),
    )
    expect(event).toMatchObject({
      kind: 'invitation',
      title: 'Stand-up, weekly',
      place: 'Room 1 Floor 2',
      organizer: { name: 'Reyes: Dana', address: 'dana@acme.test' },
      end: { kind: 'day', at: new Date('2026-03-10') },
      repeats: true,
    })
  })

  test('may be cancelled, or the reply of somebody who was invited', () => {
    const start = 'DTSTART:20260309T090000Z'
    expect(parseCalendar(calendar(start, 'STATUS:CANCELLED'))?.kind).toBe('cancelled')
    for (const [method, kind] of [
      ['REPLY', 'reply'],
      ['PUBLISH', 'event'],
    ] as const) {
      expect(parseCalendar(calendar(start).replace('REQUEST', method))?.kind).toBe(kind)
    }
  })
})

test('what is no calendar, or has no event or time, has no event', () => {
  for (const text of ['', 'hello', calendar('SUMMARY:x'), calendar('DTSTART:tomorrow')])
    expect(parseCalendar(text)).toBe(undefined)
})
