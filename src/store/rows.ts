import type { RawMail } from '../mail/rules/message.ts'
import type { SenderChecks } from '../shared/mail.ts'
import { decompress } from './compression.ts'

// Rows as both engines return them, and the values that they become.

export interface RawRow {
  zstd: Uint8Array
  client_ip: string
  helo: string
  mail_from: string
  tls: string | null
  protocol: string
  received_at: number
}

export async function rawMailOf(row: RawRow): Promise<RawMail> {
  return {
    bytes: await decompress(row.zstd),
    clientIp: row.client_ip,
    helo: row.helo,
    mailFrom: row.mail_from,
    tls: row.tls ?? undefined,
    protocol: row.protocol,
    receivedAt: new Date(row.received_at),
  }
}

export async function parsedJsonOf(
  zstd: Uint8Array | null | undefined,
): Promise<Buffer | undefined> {
  return zstd ? await decompress(zstd) : undefined
}

export function checksOf(text: string | null | undefined): SenderChecks | undefined {
  return text ? (JSON.parse(text) as SenderChecks) : undefined
}
