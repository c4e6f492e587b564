import { execFileSync } from 'node:child_process'
import { createPrivateKey, hash, X509Certificate } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { program } from '../../test/kit/programs/programs.ts'
import { ensureCertificate } from './own-certificate.ts'
import { challengeCertificate, generateKey, keyPem, selfSigned, signingRequest } from './x509.ts'

const NOW = new Date('2026-05-01T12:00:00Z')
let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-certificate-'))
})
afterEach(() => rm(folder, { recursive: true }))

function request(hostname = 'mx.box.test', serial = 'ff00112233445566778899aabbccddee', now = NOW) {
  return { hostname, now, serial: Buffer.from(serial, 'hex') }
}

function certificateOf(pem: string): X509Certificate {
  return new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE')))
}

async function openssl(...args: string[]): Promise<string> {
  return execFileSync(program('openssl'), args, { encoding: 'utf8', stdio: 'pipe' })
}

describe('the self-signed certificate', () => {
  test('names our host, is signed with its own key, and is valid for ten years', () => {
    const pem = selfSigned(request())
    const certificate = certificateOf(pem)
    expect(certificate.checkHost('mx.box.test')).toBe('mx.box.test')
    expect(certificate.checkHost('other.test')).toBeUndefined()
    expect(certificate.subject).toBe('CN=mx.box.test')
    expect(certificate.ca).toBe(false)
    expect(certificate.verify(certificate.publicKey)).toBeTruthy()
    expect(certificate.checkPrivateKey(createPrivateKey(pem))).toBeTruthy()
    expect(certificate.serialNumber).toBe('FF00112233445566778899AABBCCDDEE')
    expect(certificate.validFromDate.toISOString()).toBe('2026-04-30T12:00:00.000Z')
    expect(certificate.validToDate.getUTCFullYear()).toBe(2036)
    expect(certificate.keyUsage).toStrictEqual(['1.3.6.1.5.5.7.3.1'])
  })

  for (const [hostname, check] of [
    ['192.0.2.1', (cert: X509Certificate) => cert.checkIP('192.0.2.1')],
    [
      `${'a'.repeat(60)}.box.test`,
      (cert: X509Certificate) => cert.checkHost(cert.subject.slice(3)),
    ],
  ] as const) {
    test(`can name ${hostname.slice(0, 12)}`, () => {
      const certificate = certificateOf(selfSigned(request(hostname)))
      expect(certificate.subjectAltName?.includes(hostname)).toBeTruthy()
      expect(certificate.verify(certificate.publicKey)).toBeTruthy()
      if (hostname.length < 65) expect(check(certificate)).toBeTruthy()
    })
  }

  for (const [year, serial] of [
    ['2049', '00000000000000000000000000000001'],
    ['2060', '80000000000000000000000000000000'],
  ] as const) {
    test(`encodes the year ${year} and the serial number ${serial}`, () => {
      const now = new Date(`${year}-06-01T00:00:00Z`)
      const certificate = certificateOf(selfSigned(request('mx.box.test', serial, now)))
      expect(certificate.validFromDate.getUTCFullYear()).toBe(Number(year))
      expect(certificate.validToDate.getUTCFullYear()).toBe(Number(year) + 10)
      expect(BigInt(`0x${certificate.serialNumber}`)).toBe(BigInt(`0x${serial}`))
    })
  }

  test('is accepted by openssl', async () => {
    const file = await ensureCertificate(folder, request())
    const text = execFileSync(program('openssl'), ['x509', '-in', file, '-noout', '-text'], {
      encoding: 'utf8',
    })
    expect(text).toMatch(/Version: 3/)
    expect(text).toMatch(/ecdsa-with-SHA256/)
    expect(text).toMatch(/NIST CURVE: P-256/)
    expect(text).toMatch(/DNS:mx\.box\.test/)
    expect(text).toMatch(/CA:FALSE/)
    const purpose = ['verify', '-CAfile', file, '-purpose', 'sslserver', '-x509_strict', file]
    expect(execFileSync(program('openssl'), purpose, { encoding: 'utf8' })).toMatch(/: OK$/m)
  })

  test('is created once with mode 0600, even by concurrent starts', async () => {
    const requests = Array.from({ length: 8 }, (_, n) => request('mx.box.test', `0${n}`.repeat(16)))
    const files = await Promise.all(requests.map((each) => ensureCertificate(folder, each)))
    expect(new Set(files).size).toBe(1)
    expect(await readdir(folder)).toStrictEqual(['smtp-tls.pem'])
    const [file = ''] = files
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const made = await readFile(file, 'utf8')
    expect(certificateOf(made).checkPrivateKey(createPrivateKey(made))).toBeTruthy()
    await ensureCertificate(folder, request())
    expect(await readFile(file, 'utf8')).toBe(made)
  })
})

describe('the certificate for tls-alpn-01 (RFC 8737)', () => {
  test('names the host alone and has the digest as a critical extension', async () => {
    const pem = challengeCertificate(request(), 'token.thumbprint')
    const certificate = certificateOf(pem)
    expect(certificate.subjectAltName).toBe('DNS:mx.box.test')
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    const file = join(folder, 'challenge.pem')
    await writeFile(file, certificate.toString())
    const text = await openssl('x509', '-in', file, '-noout', '-text')
    const digest = hash('sha256', 'token.thumbprint').toUpperCase().match(/../g)?.join(':')
    // OpenSSL prints the octets of an extension that it does not know; newer ones name it.
    expect(text).toMatch(/(1\.3\.6\.1\.5\.5\.7\.1\.31|ACME Identifier): critical/i)
    const dump = await openssl('asn1parse', '-in', file, '-i')
    expect(dump).toContain(`0420${digest?.replaceAll(':', '')}`)
  })
})

describe('a signing request', () => {
  for (const hostname of ['mx.box.test', `${'a'.repeat(63)}.${'b'.repeat(63)}.box.test`]) {
    test(`for a name of ${hostname.length} characters is signed and names it alone`, async () => {
      const key = generateKey()
      const file = join(folder, 'request.der')
      await writeFile(file, signingRequest(hostname, key))
      const printed = ['-noout', '-text', '-verify']
      const text = execFileSync(
        'sh',
        ['-c', `"$0" req -inform DER -in "$1" ${printed.join(' ')} 2>&1`, program('openssl'), file],
        { encoding: 'utf8' },
      )
      expect(text).toMatch(/verify OK/i)
      expect(text).toMatch(/NIST CURVE: P-256/)
      expect(text.match(/DNS:\S+/g)).toStrictEqual([`DNS:${hostname}`])
      const shown = await openssl('req', '-inform', 'DER', '-in', file, '-noout', '-pubkey')
      await writeFile(join(folder, 'key.pem'), keyPem(key))
      expect(await openssl('pkey', '-in', join(folder, 'key.pem'), '-pubout')).toBe(shown)
    })
  }
})
