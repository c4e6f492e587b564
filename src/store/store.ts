import type { SeriesStore } from '../admin/series/store.ts'
import type { AdminSessionStore } from '../admin/session-store.ts'
import type { AsyncMethods } from '../base/operation.ts'
import type { BlockStore } from '../blocks/store.ts'
import type { CheckRunStore } from '../doctor/store.ts'
import type { OwnDomainStore } from '../domains/own/store.ts'
import type { DoorStore } from '../doors/store.ts'
import type { AccountStore } from '../gmail/store.ts'
import type { InstallationStore } from '../keys/installation-store.ts'
import type { KeyStore } from '../keys/store.ts'
import type { MailStore } from '../mail/store.ts'
import type { OrderStore } from '../shop/store.ts'
import type { TlsStore } from '../tls/store.ts'
import type { WebhookStore } from '../webhooks/store.ts'
import type { shopSweep } from './shop/sweep.ts'

// What the two databases provide: the operations of all folders.

export interface Store
  extends MailStore,
    OwnDomainStore,
    DoorStore,
    AccountStore,
    BlockStore,
    CheckRunStore,
    SeriesStore,
    TlsStore {}

export interface ShopStore
  extends KeyStore,
    InstallationStore,
    OrderStore,
    WebhookStore,
    AdminSessionStore,
    AsyncMethods<typeof shopSweep> {
  close(): Promise<void>
}
