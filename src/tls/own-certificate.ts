import { link, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrorCode } from '../base/problem.ts'
import { type CertificateRequest, selfSigned } from './x509.ts'

/** Creates the self-signed certificate of the installation unless there is one; returns the file with key and certificate. */
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
