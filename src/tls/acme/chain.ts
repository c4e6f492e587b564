import { type KeyObject, X509Certificate } from 'node:crypto'
import { toError } from '../../base/problem.ts'
import { AcmeError } from './error.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const MAX_CERTIFICATES = 10

/** The certificates that the CA sent, as PEM; throws unless the first is for this name and key. */
export function checkedChain(
  body: string,
  { name, key }: { name: string; key: KeyObject },
): string {
  const chain = body.match(CERTIFICATE) ?? []
  const [first] = chain
  const what = `the certificate of ${name}`
  if (first === undefined) throw new AcmeError(`${what}: the response has none`)
  if (chain.length > MAX_CERTIFICATES) throw new AcmeError(`${what}: the chain is too long`)
  const leaf = readCertificate(first, what)
  if (leaf.checkHost(name) === undefined)
    throw new AcmeError(`${what} is for ${leaf.subjectAltName}`)
  if (!leaf.checkPrivateKey(key)) throw new AcmeError(`${what} is for another key`)
  for (const other of chain.slice(1)) readCertificate(other, what)
  return `${chain.join('\n')}\n`
}

function readCertificate(pem: string, what: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (error) {
    throw new AcmeError(`${what} cannot be read: ${toError(error).message}`, { cause: error })
  }
}
