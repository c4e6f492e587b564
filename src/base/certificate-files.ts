import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Fault } from './fault.ts'
import { hasErrorCode, toError } from './problem.ts'

export interface CertificateFiles {
  cert: string
  key: string
}

const HOW = 'docs/tls.md says how to install both files'

/** Why a server could not use these files; undefined if it can. */
export function certificateFault({ cert, key }: CertificateFiles): Fault | undefined {
  const certText = readPem(cert)
  if (typeof certText !== 'string') return certText
  const keyText = readPem(key)
  if (typeof keyText !== 'string') return keyText
  return pairFault({ cert, key }, certText, keyText)
}

/** The text of the file, or why there is none. */
function readPem(path: string): string | Fault {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR'))
      return { seen: `${path} does not exist`, fix: `Correct the path, or create it: ${HOW}` }
    if (hasErrorCode(error, 'EACCES', 'EPERM')) {
      const seen = `${path} cannot be read by user ${process.getuid?.()}`
      return { seen, fix: `Copy it to a place that the user of the service can read: ${HOW}` }
    }
    const seen = `${path} cannot be read (${toError(error).message})`
    return { seen, fix: `Name a file in PEM format: ${HOW}` }
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function pairFault(
  { cert, key }: CertificateFiles,
  certText: string,
  keyText: string,
): Fault | undefined {
  const chain = certText.match(CERTIFICATE) ?? []
  if (chain.length === 0) {
    const seen = `${cert} contains no certificate in PEM format`
    return { seen, fix: 'Name the file with the whole chain (certbot: fullchain.pem)' }
  }
  if (/ENCRYPTED/.test(keyText)) {
    const decrypt = `(umask 077; openssl pkey -in ${key} -out ${key}.plain)`
    return { seen: `${key} is encrypted`, fix: `Use a key without a passphrase: ${decrypt}` }
  }
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(keyText)) {
    const seen = `${key} contains no private key in PEM format`
    return { seen, fix: 'Name the file with the key (certbot: privkey.pem)' }
  }
  try {
    const at = indexOfKey(chain, createPrivateKey(keyText))
    if (at > 0) {
      const seen = `${cert} begins with a certificate of its issuer`
      return { seen, fix: `Put certificate ${at + 1} of the file, which belongs to the key, first` }
    }
    if (at < 0) {
      const seen = `the key ${key} does not belong to the certificate ${cert}`
      return { seen, fix: `Install certificate and key of the same renewal: ${HOW}` }
    }
    createSecureContext({ cert: certText, key: keyText })
    return undefined
  } catch (error) {
    const seen = `${cert} and ${key} cannot be used (${toError(error).message})`
    return { seen, fix: `Obtain a new certificate, and install it with its key: ${HOW}` }
  }
}

function indexOfKey(chain: readonly string[], key: KeyObject): number {
  return chain.findIndex((pem) => new X509Certificate(pem).checkPrivateKey(key))
}

/** Whether users other than the owner and its group may read the key. */
export function isKeyExposed(key: string): boolean {
  const found = statSync(key, { throwIfNoEntry: false })
  return found !== undefined && (found.mode & 0o004) !== 0
}
