import { copyFile, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { selfSigned } from '../tls/x509.ts'
import { recordingDeps } from './testing/recording-deps.ts'
import { reloadingSecureContext } from './tls.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-certificate-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('certificate files', () => {
  const { deps, seen } = recordingDeps()
  const lines = () => seen.lines.splice(0).map(({ level, message }) => `${level}: ${message}`)

  async function pair(name: string): Promise<string> {
    const file = join(folder, name)
    await writeFile(
      file,
      selfSigned({ hostname: `${name}.test`, now: new Date(0), serial: Buffer.from([1]) }),
    )
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
    expect(current()).toBe(before)

    await copyFile(second, cert)
    await utimes(cert, 1, 1)
    expect(current()).toBe(before)
    expect(lines()).toStrictEqual(['error: cannot load the new certificate'])
    expect(current()).toBe(before)
    expect(lines()).toStrictEqual([])

    await copyFile(second, key)
    await utimes(key, 2, 2)
    expect(current()).not.toBe(before)
    expect(lines()).toStrictEqual(['info: certificate reloaded'])

    const latest = current()
    await rm(cert)
    expect(current()).toBe(latest)
    expect(lines()).toStrictEqual(['error: cannot load the new certificate'])
  })

  test('that are a symlink loop leave the old one in use and are logged once', async () => {
    const cert = await pair('cert')
    const current = reloadingSecureContext({ cert, key: cert }, deps.log)
    const before = current()
    await rm(cert)
    await symlink(cert, cert)
    expect(current()).toBe(before)
    expect(current()).toBe(before)
    expect(lines()).toStrictEqual(['error: cannot load the new certificate'])

    await rm(cert)
    await pair('cert')
    expect(current()).not.toBe(before)
    expect(lines()).toStrictEqual(['info: certificate reloaded'])
  })

  test('that cannot be read make the start fail', async () => {
    const missing = join(folder, 'none.pem')
    expect(() => reloadingSecureContext({ cert: missing, key: missing }, deps.log)).toThrow(
      /none\.pem/,
    )
  })
})
