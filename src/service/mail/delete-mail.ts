import type { Bus } from '../../bus/bus.ts'
import type { MailStore } from '../../store/store.ts'
import { liveSession, wakeSession } from '../sessions/live-session.ts'
import { messageNotFound } from './read-mail.ts'

export interface DeleteMailDeps {
  store: Pick<MailStore, 'findSession' | 'deleteMessage'>
  bus: Pick<Bus, 'wake'>
  now(): Date
}

export async function deleteMail(deps: DeleteMailDeps, token: string, id: number): Promise<void> {
  const session = await liveSession(deps, token)
  if (!(await deps.store.deleteMessage(session.id, id))) throw messageNotFound()
  wakeSession(deps.bus, session)
}
