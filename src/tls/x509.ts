import { createPublicKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { isIP } from 'node:net'
import {
  bitString,
  der,
  OCTET_STRING,
  objectId,
  positiveInteger,
  SET,
  sequence,
  time,
  UTF8_STRING,
} from './der.ts'

// Certificates and signing requests with ECDSA P-256 keys. Node.js reads them, but cannot make them.

const TEN_YEARS_MS = 10 * 365.25 * 86_400_000
// A client's clock may be behind ours.
const BACKDATED_MS = 86_400_000

export interface CertificateRequest {
  hostname: string
  now: Date
  /** 16 bytes. */
  serial: Uint8Array
}

export function generateKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** A key and its certificate as PEM. */
export function selfSigned(request: CertificateRequest): string {
  return signedByItself(request, [])
}

/**
 * The same with the digest of a key authorization: the certificate that proves control of a name to a CA over TLS (RFC 8737).
 */
export function challengeCertificate(
  request: CertificateRequest,
  keyAuthorization: string,
): string {
  const digest = der(OCTET_STRING, hash('sha256', keyAuthorization, 'buffer'))
  return signedByItself(request, [extension('1.3.6.1.5.5.7.1.31', digest, CRITICAL)])
}

/** A PKCS #10 request (RFC 2986) for one host name, in DER. */
export function signingRequest(hostname: string, key: KeyObject): Buffer {
  const names = extension('2.5.29.17', sequence(alternativeName(hostname)))
  // extensionRequest of PKCS #9. The subject is empty: CAs read subjectAltName.
  const attribute = sequence(objectId('1.2.840.113549.1.9.14'), der(SET, sequence(names)))
  const content = sequence(
    positiveInteger(Buffer.from([0])), // version 1
    sequence(),
    publicKeyOf(key),
    der(0xa0, attribute),
  )
  return sequence(content, SIGNATURE_ALGORITHM, bitString(sign('sha256', content, key)))
}

const CRITICAL = der(0x01, Buffer.from([0xff]))
const SIGNATURE_ALGORITHM = sequence(objectId('1.2.840.10045.4.3.2')) // ecdsa-with-SHA256

function signedByItself(request: CertificateRequest, more: readonly Buffer[]): string {
  const key = generateKey()
  const content = tbsCertificate(request, publicKeyOf(key), more)
  const signature = sign('sha256', content, key)
  return `${keyPem(key)}${pem(sequence(content, SIGNATURE_ALGORITHM, bitString(signature)))}`
}

function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' })
}

function tbsCertificate(
  { hostname, now, serial }: CertificateRequest,
  publicKey: Uint8Array,
  more: readonly Buffer[],
): Buffer {
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
    der(0xa3, sequence(...extensions(hostname, publicKey), ...more)),
  )
}

function nameOf(hostname: string): Buffer {
  // X.520 limits a common name to 64 characters; the full name is in subjectAltName.
  const commonName = hostname.length <= 64 ? hostname : 'mayfly'
  return sequence(
    der(SET, sequence(objectId('2.5.4.3'), der(UTF8_STRING, Buffer.from(commonName)))),
  )
}

function extensions(hostname: string, publicKey: Uint8Array): Buffer[] {
  const keyId = hash('sha1', publicKey, 'buffer')
  return [
    extension('2.5.29.17', sequence(alternativeName(hostname))),
    extension('2.5.29.19', sequence(), CRITICAL), // no certificate authority
    extension('2.5.29.15', bitString(Buffer.from([0x80]), 7), CRITICAL), // digitalSignature
    extension('2.5.29.37', sequence(objectId('1.3.6.1.5.5.7.3.1'))), // serverAuth
    extension('2.5.29.14', der(OCTET_STRING, keyId)),
  ]
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
