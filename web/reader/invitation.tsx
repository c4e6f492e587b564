import { isCalendar } from '../../src/shared/attachment.ts'
import type { Attachment } from '../site/api.ts'
import { request } from '../site/api-client.ts'
import { language, t } from '../site/i18n.ts'
import { dispositionOf } from './attachments.tsx'
import { type CalendarEvent, type CalendarTime, parseCalendar } from './calendar.ts'
import { personText } from './message-header.tsx'
import { SaveButton } from './save-button.tsx'
import { useFetched } from './use-fetched.tsx'

interface InvitationProps {
  attachments: readonly Attachment[]
  token: string
}

const MAX_BYTES = 200_000

/** When and where, by the first calendar of the mail: another one is mostly the same as a file. */
export function Invitation({ attachments, token }: InvitationProps) {
  const calendar = attachments.find(
    (one) => isCalendar(dispositionOf(one)) && one.size <= MAX_BYTES,
  )
  return calendar ? <EventCard key={calendar.url} calendar={calendar} token={token} /> : null
}

function EventCard({ calendar, token }: { calendar: Attachment; token: string }) {
  const { url, filename } = calendar
  const fetched = useFetched(`calendar ${url}`, async (signal) =>
    parseCalendar(await (await request(url, { token, signal })).text()),
  )
  const event = fetched.kind === 'loaded' ? fetched.value : undefined
  // Without it, the file is among the attachments.
  if (!event) return null
  const name = /\.ics$/i.test(filename) ? filename : `${filename}.ics`
  return (
    <section class="card event" aria-label={t(`reader_event_${event.kind}`)}>
      <p class="card-name">{t(`reader_event_${event.kind}`)}</p>
      <div class="code-row row">
        <div class="event-about">
          <p class="event-title">
            <bdi>{event.title || t('reader_no_subject')}</bdi>
          </p>
          <dl class="facts">
            <dt>{t('reader_event_when')}</dt>
            <dd>
              {whenText(event)}
              {event.repeats && ` · ${t('reader_event_repeats')}`}
            </dd>
            {event.place && (
              <>
                <dt>{t('reader_event_where')}</dt>
                <dd>
                  <bdi>{event.place}</bdi>
                </dd>
              </>
            )}
            {(event.organizer.name || event.organizer.address) && (
              <>
                <dt>{t('reader_event_organizer')}</dt>
                <dd>
                  <bdi>{personText(event.organizer.name, event.organizer.address)}</bdi>
                </dd>
              </>
            )}
          </dl>
        </div>
        <SaveButton
          path={url}
          token={token}
          name={name}
          caption={t('reader_event_save')}
          class=""
        />
      </div>
    </section>
  )
}

/** In the time zone of the browser, which is named; whole days, and times in a zone that is not known, as they are given. */
function whenText({ start, end }: Pick<CalendarEvent, 'start' | 'end'>): string {
  const format = new Intl.DateTimeFormat(language.value, formatOf(start))
  const isRange = end !== undefined && end.kind === start.kind && end.at > start.at
  const text = isRange ? format.formatRange(start.at, end.at) : format.format(start.at)
  return 'zone' in start && start.zone ? `${text} (${start.zone})` : text
}

function formatOf({ kind }: CalendarTime): Intl.DateTimeFormatOptions {
  const day = { weekday: 'short', year: 'numeric', month: 'long', day: 'numeric' } as const
  if (kind === 'day') return { ...day, timeZone: 'UTC' }
  const time = { ...day, hour: 'numeric', minute: '2-digit' } as const
  return kind === 'local' ? { ...time, timeZone: 'UTC' } : { ...time, timeZoneName: 'short' }
}
