import type { Awaitable } from '../base/awaitable.ts'

// What intake asks of a block list.

/** What the list knows of a mail, or of a client that has not sent one yet. */
export interface BlockFacts {
  clientIp?: string | undefined
  /** Address of MAIL FROM. */
  mailFrom?: string | undefined
}

/** A mail as received. */
export interface MailFacts extends BlockFacts {
  /**
   * The addresses of all From headers, which may be millions, and undefined wherever a pause is due. Called only if senders
   * are blocked.
   */
  readFrom: () => Iterable<string | undefined>
}

export const BLOCK_REASONS = ['client', 'mail_from', 'from_header'] as const
export type BlockReason = (typeof BLOCK_REASONS)[number]

/** Why it is blocked, for a caller that refuses it then; undefined if it is not. */
export type FindBlock = (facts: BlockFacts) => BlockReason | undefined
export type FindMailBlock = (facts: MailFacts) => Awaitable<BlockReason | undefined>

export const NO_BLOCKING = {
  findBlock: ((_facts) => undefined) as FindBlock,
  findMailBlock: ((_facts) => undefined) as FindMailBlock,
  close: async () => {},
}
