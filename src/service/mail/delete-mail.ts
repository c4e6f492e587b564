import type { Bus } from '../../bus/bus.ts'
import type { MailStore } from '../../store/store.ts'
import { liveSession, wakeSession } from '../sessions/live-session.ts'
import { messageNotFound } from './read-mail.ts'

export interface DeleteMailNeeds {
  store: Pick<MailStore, 'findSession' | 'deleteMessage'>
  bus: Pick<Bus, 'wake'>
  now(): Date
}

export async function deleteMail(needs: DeleteMailNeeds, token: string, id: number): Promise<void> {
  const session = await liveSession(needs, token)
  if (!(await needs.store.deleteMessage(session.id, id))) throw messageNotFound()
  wakeSession(needs.bus, session)
}
