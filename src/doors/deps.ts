import type { MailRouteDeps } from '../mail/deps.ts'
import type { MailStore } from '../mail/store.ts'
import type { Passwords } from './mailtm/passwords.ts'
import type { doorConfig } from './settings.ts'
import type { DoorStore } from './store.ts'

/** What the endpoints of the doors work with. */
export interface DoorRouteDeps extends MailRouteDeps {
  config: ReturnType<typeof doorConfig>
  store: MailStore & DoorStore
  passwords: Passwords
}
