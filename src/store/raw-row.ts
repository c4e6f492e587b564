import { zstdDecompressSync } from 'node:zlib'
import type { Mail, RawMail, SenderChecks } from '../core/message.ts'

/** A raw mail as each engine keeps it. */
export interface RawRow {
  zstd: Uint8Array
  client_ip: string
  helo: string
  mail_from: string
  tls: string | null
  protocol: string
  received_at: number
}

export function rawMailOf(row: RawRow): RawMail {
  return {
    bytes: zstdDecompressSync(row.zstd),
    clientIp: row.client_ip,
    helo: row.helo,
    mailFrom: row.mail_from,
    tls: row.tls ?? undefined,
    protocol: row.protocol,
    receivedAt: new Date(row.received_at),
  }
}

/** What was parsed, where it was kept. */
export function parsedOf(zstd: Uint8Array | null | undefined): Mail | undefined {
  return zstd ? (JSON.parse(zstdDecompressSync(zstd).toString()) as Mail) : undefined
}

export function checksOf(text: string | null | undefined): SenderChecks | undefined {
  return text ? (JSON.parse(text) as SenderChecks) : undefined
}
