import type { Bus } from '../../bus/bus.ts'
import type { MailStore } from '../../store/store.ts'
import { liveSession, sessionExpired, wakeSession } from './live-session.ts'

export interface EndSessionNeeds {
  store: Pick<MailStore, 'findSession' | 'endSession'>
  bus: Pick<Bus, 'wake'>
  now(): Date
}

/** Ends it now; whoever waits on it hears so. */
export async function endSession(needs: EndSessionNeeds, token: string): Promise<void> {
  const session = await liveSession(needs, token)
  if (!(await needs.store.endSession(session.id, needs.now()))) throw sessionExpired()
  wakeSession(needs.bus, session)
}
