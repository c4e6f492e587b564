import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTlsFiles } from './files.ts'

let folder = ''
beforeEach(async () => {
  unreadable = []
  folder = join(await mkdtemp(join(tmpdir(), 'mayfly-tls-')), 'tls')
})
afterEach(() => rm(join(folder, '..'), { recursive: true }))

let unreadable: string[] = []
const open = () => openTlsFiles(folder, (path) => unreadable.push(path))

const entry = { kind: 'certificate', name: 'mx.box.test', value: 'PEM' } as const

test('entries of each kind are listed, replaced and deleted', async () => {
  const files = open()
  expect(await files.listTlsEntries('certificate')).toStrictEqual([])
  await files.saveTlsEntry({ ...entry, name: 'z.test' })
  for (const kind of ['certificate', 'attempts', 'account', 'challenge'] as const) {
    await files.saveTlsEntry({ ...entry, kind, value: kind })
    await files.saveTlsEntry({ ...entry, kind, value: `${kind} 2` })
  }
  expect(await files.listTlsEntries('certificate')).toStrictEqual([
    { ...entry, value: 'certificate 2' },
    { ...entry, name: 'z.test' },
  ])
  for (const kind of ['attempts', 'account', 'challenge'] as const) {
    expect(await files.listTlsEntries(kind)).toStrictEqual([{ ...entry, kind, value: `${kind} 2` }])
    await files.deleteTlsEntry(kind, entry.name)
    await files.deleteTlsEntry(kind, entry.name)
    expect(await files.listTlsEntries(kind)).toStrictEqual([])
  }
})

test('files and folder are readable by their owner alone, and no draft is left', async () => {
  await open().saveTlsEntry(entry)
  expect(await readdir(folder)).toStrictEqual(['mx.box.test.pem'])
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  expect((await stat(join(folder, 'mx.box.test.pem'))).mode & 0o777).toBe(0o600)
})

test('a draft of a service that died, and other files, are ignored', async () => {
  const files = open()
  await files.saveTlsEntry(entry)
  for (const name of ['mx.box.test.pem.new', 'README', 'UPPER.pem']) {
    await writeFile(join(folder, name), 'half')
  }
  expect(await files.listTlsEntries('certificate')).toStrictEqual([entry])
  await files.saveTlsEntry({ ...entry, value: 'next' })
  expect(await files.listTlsEntries('certificate')).toStrictEqual([{ ...entry, value: 'next' }])
})

test('a file that cannot be read is reported, and the others are listed', async () => {
  const files = open()
  await files.saveTlsEntry(entry)
  const path = join(folder, 'damaged.test.pem')
  await mkdir(path)
  const listed = { kind: 'certificate', name: 'damaged.test', value: '', isUnreadable: true }
  for (const _ of ['reported', 'known']) {
    expect(await files.listTlsEntries('certificate')).toStrictEqual([listed, entry])
    expect(unreadable).toStrictEqual([path])
  }
  await rm(path, { recursive: true })
  await writeFile(path, 'PEM')
  expect(await files.listTlsEntries('certificate')).toHaveLength(2)
  await rm(path)
  await mkdir(path)
  await files.listTlsEntries('certificate')
  expect(unreadable, 'it was read meanwhile').toStrictEqual([path, path])
  await rm(path, { recursive: true })
  await files.listTlsEntries('certificate')
  await mkdir(path)
  await files.listTlsEntries('certificate')
  expect(unreadable, 'it was deleted meanwhile').toStrictEqual([path, path, path])
})

for (const name of ['../x', '', 'a/b', '.hidden', 'A.test']) {
  test(`${JSON.stringify(name)} is never a file name`, async () => {
    await expect(open().saveTlsEntry({ ...entry, name })).rejects.toThrow(/not a name/)
  })
}
