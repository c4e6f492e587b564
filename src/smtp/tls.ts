import {
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { link, mkdir, rm, writeFile } from 'node:fs/promises'
import { isIP, type Socket } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import type { Log } from '../base/log/log.ts'
import { gauge } from '../base/metrics.ts'
import { hasErrorCode, toError } from '../base/problem.ts'

export interface CertificateFiles {
  cert: string
  key: string
}

let readExpiry: (() => number) | undefined
gauge(
  'mayfly_smtp_certificate_expiry_timestamp_seconds',
  'When the certificate for STARTTLS expires, in Unix time',
  () => readExpiry?.(),
  'min',
)

/** Reloads the files whenever they have changed. Throws only on the first load. */
export function reloadingSecureContext(files: CertificateFiles, log: Log): () => SecureContext {
  let seen = fingerprints(files)
  let { context, expiresAt } = loadContext(files)
  const current = () => {
    const marks = fingerprints(files)
    if (marks === seen) return context
    seen = marks
    try {
      ;({ context, expiresAt } = loadContext(files))
      log.info({ cert: files.cert }, 'certificate reloaded')
    } catch (err) {
      // Half-written, or the key is not replaced yet: the old pair is used until both match.
      log.error({ err: toError(err), cert: files.cert }, 'cannot load the new certificate')
    }
    return context
  }
  readExpiry = () => {
    current()
    return expiresAt
  }
  return current
}

function loadContext({ cert: file, key }: CertificateFiles) {
  const cert = readFileSync(file)
  const context = createSecureContext({ cert, key: readFileSync(key) })
  return { context, expiresAt: Date.parse(new X509Certificate(cert).validTo) / 1000 }
}

/** Changes whenever a file is written or replaced. */
function fingerprints({ cert, key }: CertificateFiles): string {
  return `${fingerprint(cert)} ${fingerprint(key)}`
}

// Never throws: it runs within a client's session. The error message is part of the fingerprint, so that an unreadable
// file is logged once and not for each client.
function fingerprint(file: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(file, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  } catch (err) {
    return toError(err).message
  }
}

/** A failed handshake destroys the socket. */
export function upgradeToTls(
  plain: Socket,
  secureContext: SecureContext,
  { done, failed }: { done(tls: string): void; failed(code: string | undefined): void },
): Socket {
  const socket = new TLSSocket(plain, { isServer: true, secureContext, requestCert: false })
  socket.once('secure', () => {
    done(`${socket.getProtocol() ?? 'TLS'} ${socket.getCipher().name}`)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    socket.destroy()
    failed(error.code)
  })
  return socket
}

const TEN_YEARS_MS = 10 * 365.25 * 86_400_000
// A client's clock may be behind ours.
const BACKDATED_MS = 86_400_000

interface CertificateRequest {
  hostname: string
  now: Date
  /** 16 bytes. */
  serial: Uint8Array
}

/** Creates a self-signed certificate unless there is one; returns the file with key and certificate. */
export async function ensureCertificate(
  folder: string,
  request: CertificateRequest,
): Promise<string> {
  const file = join(folder, 'smtp-tls.pem')
  await mkdir(folder, { recursive: true })
  // link(2) is atomic and never overwrites: of several starting threads, one creates the file and all use it.
  const draft = `${file}.${Buffer.from(request.serial).toString('hex')}`
  try {
    await writeFile(draft, selfSigned(request), { mode: 0o600, flag: 'wx', flush: true })
    await link(draft, file)
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
  return file
}

/** An ECDSA P-256 key and its certificate as PEM. */
export function selfSigned(request: CertificateRequest): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const content = tbsCertificate(request, privateKey)
  const signature = sign('sha256', content, privateKey)
  const certificate = sequence(content, SIGNATURE_ALGORITHM, bitString(signature))
  return `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${pem(certificate)}`
}

function tbsCertificate({ hostname, now, serial }: CertificateRequest, key: KeyObject): Buffer {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const name = nameOf(hostname)
  const at = now.getTime()
  return sequence(
    der(0xa0, positiveInteger(Buffer.from([2]))), // version 3
    positiveInteger(serial),
    SIGNATURE_ALGORITHM,
    name,
    sequence(time(new Date(at - BACKDATED_MS)), time(new Date(at + TEN_YEARS_MS))),
    name,
    publicKey,
    der(0xa3, extensions(hostname, publicKey)),
  )
}

function nameOf(hostname: string): Buffer {
  // X.520 limits a common name to 64 characters; the full name is in subjectAltName.
  const commonName = hostname.length <= 64 ? hostname : 'mayfly'
  return sequence(
    der(SET, sequence(objectId('2.5.4.3'), der(UTF8_STRING, Buffer.from(commonName)))),
  )
}

function extensions(hostname: string, publicKey: Uint8Array): Buffer {
  const keyId = hash('sha1', publicKey, 'buffer')
  return sequence(
    extension('2.5.29.17', sequence(alternativeName(hostname))),
    extension('2.5.29.19', sequence(), CRITICAL), // no certificate authority
    extension('2.5.29.15', bitString(Buffer.from([0x80]), 7), CRITICAL), // digitalSignature
    extension('2.5.29.37', sequence(objectId('1.3.6.1.5.5.7.3.1'))), // serverAuth
    extension('2.5.29.14', der(OCTET_STRING, keyId)),
  )
}

function extension(id: string, value: Uint8Array, critical: Uint8Array = Buffer.alloc(0)): Buffer {
  return sequence(objectId(id), critical, der(OCTET_STRING, value))
}

function alternativeName(hostname: string): Buffer {
  if (isIP(hostname) === 4) return der(0x87, Buffer.from(hostname.split('.').map(Number)))
  return der(0x82, Buffer.from(hostname, 'latin1'))
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

// The subset of DER (X.690) that a certificate needs.
const OCTET_STRING = 0x04
const UTF8_STRING = 0x0c
const SET = 0x31
const CRITICAL = der(0x01, Buffer.from([0xff]))
const SIGNATURE_ALGORITHM = sequence(objectId('1.2.840.10045.4.3.2')) // ecdsa-with-SHA256

/** Tag, length, value. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const value = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(value.length)]), value])
}

function sequence(...parts: Uint8Array[]): Buffer {
  return der(0x30, ...parts)
}

/** A leading zero byte keeps a number with the top bit set positive. */
function positiveInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  const sign = (digits[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0)
  return der(0x02, sign, digits)
}

/** `1.2.840.10045.4.3.2` */
function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** The first byte is the number of unused bits in the last. */
function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return der(0x03, Buffer.from([unusedBits]), bytes)
}

/** RFC 5280 4.1.2.5: UTCTime before 2050, GeneralizedTime from then on. */
function time(date: Date): Buffer {
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, '')}Z`
  const isShort = date.getUTCFullYear() < 2050
  return isShort ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits))
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes = digitsOf(length, 256)
  return [0x80 + bytes.length, ...bytes]
}

/** All bytes but the last have the top bit set. */
function base128(number: number): number[] {
  return digitsOf(number, 128).map((digit, at, all) => digit + (at < all.length - 1 ? 128 : 0))
}

function digitsOf(number: number, base: number): number[] {
  return number < base ? [number] : [...digitsOf(Math.floor(number / base), base), number % base]
}
