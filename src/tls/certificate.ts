import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Validity } from './rules.ts'
import type { TlsEntry } from './store.ts'

/** A certificate and its key as PEM. */
export interface StoredCertificate extends Validity {
  name: string
  pem: string
}

/** Undefined if it cannot be used: its file was damaged, and another one is obtained. */
export function certificateOf({
  name,
  value: pem,
}: Pick<TlsEntry, 'name' | 'value'>): StoredCertificate | undefined {
  try {
    const leaf = new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE')))
    if (!leaf.checkPrivateKey(createPrivateKey(pem))) return undefined
    const { validFromDate: notBefore, validToDate: notAfter, fingerprint256: fingerprint } = leaf
    return { name, pem, notBefore, notAfter, fingerprint }
  } catch {
    return undefined
  }
}
