import { createPublicKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { link, mkdir, rm, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { hasCode } from '../core/fault.ts'
import {
  bitString,
  der,
  objectId,
  octetString,
  positiveInteger,
  sequence,
  set,
  time,
  trueValue,
  utf8String,
} from './der.ts'

const TEN_YEARS_MS = 10 * 365.25 * 86_400_000
// A sender's clock may be behind ours.
const BACKDATED_MS = 86_400_000

interface CertificateWish {
  hostname: string
  now: Date
  /** 16 bytes; the certificate's number. */
  serial: Uint8Array
}

/** Makes the installation's certificate and key once; the answer is the file that holds both. */
export async function installationCertificate(
  folder: string,
  wish: CertificateWish,
): Promise<string> {
  const file = join(folder, 'smtp-tls.pem')
  await mkdir(folder, { recursive: true })
  // Linked into place whole, and never over another: of threads that start at once, one makes it and all use it.
  const draft = `${file}.${Buffer.from(wish.serial).toString('hex')}`
  try {
    await writeFile(draft, selfSigned(wish), { mode: 0o600, flag: 'wx', flush: true })
    await link(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
  return file
}

/** A key (ECDSA P-256) and its certificate, both as PEM in one text. */
export function selfSigned(wish: CertificateWish): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const content = certificateContent(wish, privateKey)
  const signature = sign('sha256', content, privateKey)
  const certificate = sequence(content, SIGNED_WITH, bitString(signature))
  return `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${pem(certificate)}`
}

const SIGNED_WITH = sequence(objectId('1.2.840.10045.4.3.2')) // ecdsa-with-SHA256

function certificateContent({ hostname, now, serial }: CertificateWish, key: KeyObject): Buffer {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const name = nameOf(hostname)
  const from = new Date(now.getTime() - BACKDATED_MS)
  const until = new Date(now.getTime() + TEN_YEARS_MS)
  return sequence(
    der(0xa0, positiveInteger(Buffer.from([2]))), // version 3
    positiveInteger(serial),
    SIGNED_WITH,
    name,
    sequence(time(from), time(until)),
    name,
    publicKey,
    der(0xa3, extensions(hostname, publicKey)),
  )
}

function nameOf(hostname: string): Buffer {
  // X.520 allows a common name of 64 characters; the full name stands among the alternative names.
  const commonName = hostname.length <= 64 ? hostname : 'mayfly'
  return sequence(set(sequence(objectId('2.5.4.3'), utf8String(commonName))))
}

function extensions(hostname: string, publicKey: Uint8Array): Buffer {
  const keyId = hash('sha1', publicKey, 'buffer')
  return sequence(
    extension('2.5.29.17', sequence(alternativeName(hostname))),
    extension('2.5.29.19', sequence(), trueValue()), // no certificate authority
    extension('2.5.29.15', bitString(Buffer.from([0x80]), 7), trueValue()), // digitalSignature
    extension('2.5.29.37', sequence(objectId('1.3.6.1.5.5.7.3.1'))), // serverAuth
    extension('2.5.29.14', octetString(keyId)),
  )
}

function extension(id: string, value: Uint8Array, critical: Uint8Array = Buffer.alloc(0)): Buffer {
  return sequence(objectId(id), critical, octetString(value))
}

function alternativeName(hostname: string): Buffer {
  if (isIP(hostname) === 4) return der(0x87, Buffer.from(hostname.split('.').map(Number)))
  return der(0x82, Buffer.from(hostname, 'latin1'))
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
