import type { Bus } from '../../bus/bus.ts'
import type { MailStore } from '../../store/store.ts'
import { liveSession, sessionExpired, wakeSession } from './live-session.ts'

export interface EndSessionDeps {
  store: Pick<MailStore, 'findSession' | 'endSession'>
  bus: Pick<Bus, 'wake'>
  now(): Date
}

/** Ends it now; whoever waits on it hears so. */
export async function endSession(deps: EndSessionDeps, token: string): Promise<void> {
  const session = await liveSession(deps, token)
  if (!(await deps.store.endSession(session.id, deps.now()))) throw sessionExpired()
  wakeSession(deps.bus, session)
}
