import type { AttachmentNote, Mail } from '../core/message.ts'

/** What the parent asks of a child. */
export type Job =
  | { kind: 'parse'; raw: Uint8Array }
  | { kind: 'attachment'; raw: Uint8Array; index: number }

export interface Attachment {
  note: AttachmentNote
  bytes: Uint8Array
}

/** What a child says: once that it is ready, then one answer per job. */
export type Answer =
  | { kind: 'ready' }
  | { kind: 'mail'; mail: Mail }
  | { kind: 'attachment'; attachment: Attachment | undefined }
  /** By a fault of ours; `place` says which and where. */
  | { kind: 'failed'; place: string }
