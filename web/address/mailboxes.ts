import { signal } from '@preact/signals'

/** One address of this browser and the token that opens it. */
export interface Mailbox {
  email: string
  token: string
  expiresAt: Date
}

/** Those that this browser knows, the newest first; kept over visits and shared by its tabs. */
export const mailboxes = signal<Mailbox[]>([])
/** The one on the page; undefined until the first is there. */
export const current = signal<Mailbox | undefined>(undefined)
