import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { recordingLog } from '../../test/kit/recording-log.ts'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { CertificateSet } from './contexts.ts'
import { startCertificates } from './jobs.ts'
import { selfSigned } from './x509.ts'

const NOW = new Date('2026-05-01T12:00:00Z')

test('a certificate whose file cannot be read any more is served, and the log says so', async () => {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const path = join(folder.path, 'tls', 'box.test.pem')
  mkdirSync(join(folder.path, 'tls'))
  const pem = selfSigned({ hostname: 'box.test', now: NOW, serial: Buffer.alloc(16, 1) })
  writeFileSync(path, pem)
  let reads = 0
  const { log, lines } = recordingLog()
  const service = await startCertificates({
    config: {
      data: folder.path,
      store: 'sqlite:',
      http: { baseUrl: 'https://box.test', mtaSts: 'off' },
      smtp: { hostname: 'box.test', tlsCert: '' },
      acme: { on: true, email: 'a@box.test', directory: '', caFile: '', lookMs: 1 },
    },
    store: {
      listDomains: async () => {
        reads += 1
        return []
      },
      acquireLease: async () => false,
      releaseLease: async () => {},
      listTlsEntries: async () => [],
      saveTlsEntry: async () => {},
      deleteTlsEntry: async () => {},
    },
    now: () => NOW,
    log,
    serving: new Promise(() => {}),
  })
  onTestFinished(service.stop)
  const served = async () => {
    const { signal } = new AbortController()
    const set = (await service.commands.certificates?.(-1, signal)) as CertificateSet
    return set.certificates.map((one) => one.pem)
  }
  /** Until the files were read once more, from beginning to end. */
  const read = async () => {
    const before = reads
    await waitUntil(() => reads > before + 1)
  }
  expect(await served()).toStrictEqual([pem])
  // As root, any file can be read, but no link to itself.
  symlinkSync('box.test.pem', `${path}.link`)
  renameSync(`${path}.link`, path)
  await read()
  expect(await served()).toStrictEqual([pem])
  expect(lines.join('\n')).toMatch(/error cannot read a file of the certificates.*box\.test\.pem/)
  rmSync(path)
  await read()
  expect(await served(), 'there is none any more').toStrictEqual([])
})
