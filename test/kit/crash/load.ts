import type { Actor } from './actor.ts'
import { backupActor } from './backup-actor.ts'
import { gmailActor } from './gmail-actor.ts'
import { quotaActor, webhookActor } from './key-actors.ts'
import { sessionActor } from './session-actor.ts'

/** Besides senders: polls, deletions, extensions, expiry, keys, webhooks, fetched mail and backups. The service sweeps by itself. */
export async function mixedLoad(): Promise<Actor[]> {
  return [sessionActor(), quotaActor(), await webhookActor(), await gmailActor(), backupActor()]
}
