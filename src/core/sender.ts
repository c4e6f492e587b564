import type { Envelope, SenderChecks } from './message.ts'

/** What the sender checks are made from. */
export interface SenderFacts extends Pick<Envelope, 'clientIp' | 'helo' | 'mailFrom'> {
  /** The address that readers see as the sender's. */
  shown: string
  receivedAt: Date
  raw: Uint8Array
}

/** False while a later look may find out more. */
export function isFinal({ spf, dkim, dmarc }: SenderChecks): boolean {
  return spf !== 'temperror' && dkim !== 'temperror' && dmarc !== 'temperror'
}
