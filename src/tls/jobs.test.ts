import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { recordingLog } from '../../test/kit/recording-log.ts'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { readMetrics } from '../base/metrics.ts'
import type { CertificateSet } from './contexts.ts'
import { startCertificates } from './jobs.ts'
import { selfSigned } from './x509.ts'

const NOW = new Date('2026-05-01T12:00:00Z')

/** A service with a file for the certificate of box.test, which can be changed before the start. */
async function start(prepare: (path: string) => void = () => {}) {
  const folder = tempFolder()
  onTestFinished(folder.remove)
  const path = join(folder.path, 'tls', 'box.test.pem')
  mkdirSync(join(folder.path, 'tls'))
  const pem = selfSigned({ hostname: 'box.test', now: NOW, serial: Buffer.alloc(16, 1) })
  writeFileSync(path, pem)
  prepare(path)
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
  return {
    path,
    pem,
    lines,
    served: async () => {
      const { signal } = new AbortController()
      const set = (await service.commands.certificates?.(-1, signal)) as CertificateSet
      return set.certificates.map((one) => one.pem)
    },
    /** Until the files were read once more, from beginning to end. */
    read: async () => {
      const before = reads
      await waitUntil(() => reads > before + 1)
    },
  }
}

/** As root, any file can be read, but no link to itself. */
function makeUnreadable(path: string): void {
  symlinkSync('box.test.pem', `${path}.link`)
  renameSync(`${path}.link`, path)
}

const expiries = () =>
  readMetrics()
    .find(({ name }) => name === 'mayfly_certificate_expiry_timestamp_seconds')
    ?.values.map(({ labels, value }) => [labels['name'], value])

test('a certificate whose file cannot be read any more is served, and the log says so', async () => {
  const { path, pem, lines, served, read } = await start()
  expect(await served()).toStrictEqual([pem])
  const known = expiries()
  expect(known).toStrictEqual([['box.test', expect.any(Number)]])
  makeUnreadable(path)
  await read()
  expect(await served()).toStrictEqual([pem])
  expect(expiries()).toStrictEqual(known)
  expect(lines.join('\n')).toMatch(/error cannot read a file of the certificates.*box\.test\.pem/)
  rmSync(path)
  await read()
  expect(await served(), 'there is none any more').toStrictEqual([])
  expect(expiries()).toStrictEqual([])
})

test('one that cannot be read at the start has expiry 0 in the metrics, so that the alert fires', async () => {
  const { path, pem, served, read } = await start(makeUnreadable)
  expect([await served(), expiries()]).toStrictEqual([[], [['box.test', 0]]])
  rmSync(path)
  writeFileSync(path, pem)
  await read()
  expect(await served()).toStrictEqual([pem])
  expect(expiries()).toStrictEqual([['box.test', expect.any(Number)]])
  expect(expiries()).not.toStrictEqual([['box.test', 0]])
})
