import type { Address } from '../../base/address.ts'
import { previewOf } from '../../base/text.ts'
import { regularAttachments } from '../../shared/attachment.ts'
import { type Envelope, type HeaderSummary, isActionLink, type Mail } from '../../shared/mail.ts'

export interface MessageSummary extends HeaderSummary {
  id: number
  receivedAt: Date
  /** The most likely code; empty if it has none; undefined if it has not been scanned yet. */
  code: string | undefined
  /** The beginning of the text; undefined if it has not been scanned yet. */
  preview: string | undefined
  /** How many attachments it has, besides inline images; undefined if it has not been scanned yet. */
  attachments: number | undefined
  /** How many links it has that a person is meant to follow; undefined if it has not been scanned yet. */
  links: number | undefined
}

/** What a list shows of a parsed mail. */
export interface ScanResult {
  /** Empty if it has none. */
  code: string
  preview: string
  attachments: number
  links: number
}

export function scanResult({ codes, text, attachments, links }: Mail): ScanResult {
  return {
    code: codes[0]?.value ?? '',
    preview: previewOf(text ?? ''),
    attachments: regularAttachments(attachments).length,
    links: links.filter(isActionLink).length,
  }
}

/** By the links: version 0.3.0 did not store them. */
export function isScanned({ links }: Pick<MessageSummary, 'links'>): boolean {
  return links !== undefined
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
