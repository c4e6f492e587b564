import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { type BuiltPage, readBuiltPage } from './assets.ts'

const MANIFEST = {
  'inbox/inbox.tsx': {
    file: 'assets/inbox-1.js',
    isEntry: true,
    imports: ['_a', '_b'],
    css: ['assets/i.css'],
  },
  'admin/admin.tsx': {
    file: 'assets/admin-1.js',
    isEntry: true,
    imports: ['_a', '_plot'],
    dynamicImports: ['../src/shared/locales/admin/de.json'],
    css: ['assets/admin.css', 'assets/a.css'],
  },
  '../src/shared/locales/admin/de.json': { file: 'assets/de-2.js' },
  _plot: { file: 'assets/plot.js' },
  '../src/shared/locales/de.json': { file: 'assets/de-1.js' },
  _a: { file: 'assets/a.js', imports: ['_b'], css: ['assets/i.css', 'assets/a.css'] },
  _b: { file: 'assets/b.js', imports: ['_a'] },
}

const OF_ALL = ['inbox-1.js', 'i.css', 'a.js', 'a.css', 'b.js', 'de-1.js']
const OF_ADMIN = ['admin-1.js', 'admin.css', 'plot.js', 'de-2.js']

const folder = tempFolder()
let built: BuiltPage
beforeAll(() => {
  mkdirSync(join(folder.path, '.vite'))
  mkdirSync(join(folder.path, 'assets'))
  writeFileSync(join(folder.path, '.vite/manifest.json'), JSON.stringify(MANIFEST))
  for (const name of [...OF_ALL, ...OF_ADMIN]) {
    for (const end of ['', '.br', '.gz']) {
      writeFileSync(join(folder.path, 'assets', name + end), name + end)
    }
  }
  writeFileSync(join(folder.path, 'assets/secret.txt'), '')
  built = readBuiltPage(folder.path, { admin: true })
})
afterAll(() => folder.remove())

describe('a build', () => {
  test('lists every file of an entry once, even with circular imports', () => {
    expect(built.entry('inbox/inbox.tsx')).toStrictEqual({
      script: '/assets/inbox-1.js',
      modules: ['/assets/a.js', '/assets/b.js'],
      styles: ['/assets/i.css', '/assets/a.css'],
    })
  })

  test('has a catalogue for every language but English', () => {
    expect.assert(built.catalogue('de') === '/assets/de-1.js')
    expect.assert(built.catalogue('en') === undefined)
  })

  test('serves scripts and styles, also compressed, and no other file', () => {
    const asset = built.asset('a.js')
    expect.assert(asset?.type === 'text/javascript; charset=utf-8')
    expect.assert(String(asset.bytes) === 'a.js')
    expect.assert(String(asset.compressed.br) === 'a.js.br')
    expect.assert(String(asset.compressed.gzip) === 'a.js.gz')
    for (const name of ['secret.txt', 'a.js.br', '../.vite/manifest.json', '']) {
      expect(built.asset(name), name).toBeUndefined()
    }
  })
})

test('without an admin token, files that only the admin page loads are not served', () => {
  const open = readBuiltPage(folder.path, { admin: false })
  const served = (page: BuiltPage) =>
    [...OF_ALL, ...OF_ADMIN].filter((name) => page.asset(name) !== undefined)
  expect(served(open)).toStrictEqual(OF_ALL)
  expect(served(built)).toStrictEqual([...OF_ALL, ...OF_ADMIN])
})

test('without a build there are no files', () => {
  const none = readBuiltPage(join(folder.path, 'nowhere'), { admin: true })
  expect([none.entry('inbox/inbox.tsx'), none.catalogue('de'), none.asset('a.js')]).toStrictEqual([
    undefined,
    undefined,
    undefined,
  ])
})
