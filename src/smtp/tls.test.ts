import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import {
  copyFile,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { program } from '../../test/support/programs.ts'
import { recordingDeps } from './testing/recording-deps.ts'
import { ensureCertificate, reloadingSecureContext, selfSigned } from './tls.ts'

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

describe('the self-signed certificate', () => {
  test('names our host, is signed with its own key, and is valid for ten years', () => {
    const pem = selfSigned(request())
    const certificate = certificateOf(pem)
    assert.equal(certificate.checkHost('mx.box.test'), 'mx.box.test')
    assert.equal(certificate.checkHost('other.test'), undefined)
    assert.equal(certificate.subject, 'CN=mx.box.test')
    assert.equal(certificate.ca, false)
    assert.ok(certificate.verify(certificate.publicKey))
    assert.ok(certificate.checkPrivateKey(createPrivateKey(pem)))
    assert.equal(certificate.serialNumber, 'FF00112233445566778899AABBCCDDEE')
    assert.equal(certificate.validFromDate.toISOString(), '2026-04-30T12:00:00.000Z')
    assert.equal(certificate.validToDate.getUTCFullYear(), 2036)
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
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
      assert.ok(certificate.subjectAltName?.includes(hostname))
      assert.ok(certificate.verify(certificate.publicKey))
      if (hostname.length < 65) assert.ok(check(certificate))
    })
  }

  for (const [year, serial] of [
    ['2049', '00000000000000000000000000000001'],
    ['2060', '80000000000000000000000000000000'],
  ] as const) {
    test(`encodes the year ${year} and the serial number ${serial}`, () => {
      const now = new Date(`${year}-06-01T00:00:00Z`)
      const certificate = certificateOf(selfSigned(request('mx.box.test', serial, now)))
      assert.equal(certificate.validFromDate.getUTCFullYear(), Number(year))
      assert.equal(certificate.validToDate.getUTCFullYear(), Number(year) + 10)
      assert.equal(BigInt(`0x${certificate.serialNumber}`), BigInt(`0x${serial}`))
    })
  }

  test('is accepted by openssl', async () => {
    const file = await ensureCertificate(folder, request())
    const text = execFileSync(program('openssl'), ['x509', '-in', file, '-noout', '-text'], {
      encoding: 'utf8',
    })
    assert.match(text, /Version: 3/)
    assert.match(text, /ecdsa-with-SHA256/)
    assert.match(text, /NIST CURVE: P-256/)
    assert.match(text, /DNS:mx\.box\.test/)
    assert.match(text, /CA:FALSE/)
    const purpose = ['verify', '-CAfile', file, '-purpose', 'sslserver', '-x509_strict', file]
    assert.match(execFileSync(program('openssl'), purpose, { encoding: 'utf8' }), /: OK$/m)
  })

  test('is created once with mode 0600, even by concurrent starts', async () => {
    const requests = Array.from({ length: 8 }, (_, n) => request('mx.box.test', `0${n}`.repeat(16)))
    const files = await Promise.all(requests.map((each) => ensureCertificate(folder, each)))
    assert.equal(new Set(files).size, 1)
    assert.deepEqual(await readdir(folder), ['smtp-tls.pem'])
    const [file = ''] = files
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const made = await readFile(file, 'utf8')
    assert.ok(certificateOf(made).checkPrivateKey(createPrivateKey(made)))
    await ensureCertificate(folder, request())
    assert.equal(await readFile(file, 'utf8'), made)
  })
})

describe('certificate files', () => {
  const { deps, seen } = recordingDeps()
  const lines = () => seen.lines.splice(0).map(({ level, message }) => `${level}: ${message}`)

  async function pair(name: string): Promise<string> {
    const file = join(folder, name)
    await writeFile(file, selfSigned(request(`${name}.test`)))
    return file
  }

  test('are reloaded when they change; an invalid one leaves the old one in use', async () => {
    const first = await pair('first')
    const second = await pair('second')
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    await copyFile(first, cert)
    await copyFile(first, key)
    const current = reloadingSecureContext({ cert, key }, deps.log)
    const before = current()
    assert.equal(current(), before)

    await copyFile(second, cert)
    await utimes(cert, 1, 1)
    assert.equal(current(), before)
    assert.deepEqual(lines(), ['error: cannot load the new certificate'])
    assert.equal(current(), before)
    assert.deepEqual(lines(), [])

    await copyFile(second, key)
    await utimes(key, 2, 2)
    assert.notEqual(current(), before)
    assert.deepEqual(lines(), ['info: certificate reloaded'])

    const latest = current()
    await rm(cert)
    assert.equal(current(), latest)
    assert.deepEqual(lines(), ['error: cannot load the new certificate'])
  })

  test('that are a symlink loop leave the old one in use and are logged once', async () => {
    const cert = await pair('cert')
    const current = reloadingSecureContext({ cert, key: cert }, deps.log)
    const before = current()
    await rm(cert)
    await symlink(cert, cert)
    assert.equal(current(), before)
    assert.equal(current(), before)
    assert.deepEqual(lines(), ['error: cannot load the new certificate'])

    await rm(cert)
    await pair('cert')
    assert.notEqual(current(), before)
    assert.deepEqual(lines(), ['info: certificate reloaded'])
  })

  test('that cannot be read make the start fail', async () => {
    const missing = join(folder, 'none.pem')
    assert.throws(
      () => reloadingSecureContext({ cert: missing, key: missing }, deps.log),
      /none\.pem/,
    )
  })
})
