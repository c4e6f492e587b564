import type { Address } from '../../base/address.ts'
import { previewOf } from '../../base/text.ts'
import { isInlineImage } from '../../shared/attachment.ts'
import type { Envelope, HeaderSummary, Mail } from '../../shared/mail.ts'

export interface MessageSummary extends HeaderSummary {
  id: number
  receivedAt: Date
  /** The most likely code; empty if it has none; undefined if it has not been scanned yet. */
  code: string | undefined
  /** The beginning of the text; undefined if it has not been scanned yet. */
  preview: string | undefined
  /** How many attachments it has, besides inline images; undefined if it has not been scanned yet. */
  attachments: number | undefined
}

/** What a list shows of a parsed mail. */
export interface ScanResult {
  /** Empty if it has none. */
  code: string
  preview: string
  attachments: number
}

export function scanResult({ codes, text, attachments }: Mail): ScanResult {
  return {
    code: codes[0]?.value ?? '',
    preview: previewOf(text ?? ''),
    attachments: attachments.filter((one) => !isInlineImage(one)).length,
  }
}

/** By the preview: version 0.1.0 stored only codes. */
export function isScanned({ preview }: Pick<MessageSummary, 'preview'>): boolean {
  return preview !== undefined
}

/** A mail stored for one mailbox. */
export interface Message extends MessageSummary {
  rawId: number
  recipient: Address
  size: number
}

/** The bytes as received, with the envelope. */
export interface RawMail extends Envelope {
  bytes: Uint8Array
  receivedAt: Date
}
