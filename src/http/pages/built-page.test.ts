import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { tempFolder } from '../../../test/support/stores.ts'
import { type BuiltPage, readBuiltPage } from './assets.ts'

const MANIFEST = {
  'inbox/inbox.tsx': { file: 'assets/inbox-1.js', imports: ['_a', '_b'], css: ['assets/i.css'] },
  '../src/shared/locales/de.json': { file: 'assets/de-1.js' },
  _a: { file: 'assets/a.js', imports: ['_b'], css: ['assets/i.css', 'assets/a.css'] },
  _b: { file: 'assets/b.js', imports: ['_a'] },
}

const folder = tempFolder()
let built: BuiltPage
beforeAll(() => {
  mkdirSync(join(folder.path, '.vite'))
  mkdirSync(join(folder.path, 'assets'))
  writeFileSync(join(folder.path, '.vite/manifest.json'), JSON.stringify(MANIFEST))
  for (const name of ['a.js', 'a.js.br', 'a.js.gz', 'secret.txt']) {
    writeFileSync(join(folder.path, 'assets', name), name)
  }
  built = readBuiltPage(folder.path)
})
afterAll(() => folder.remove())

describe('a build', () => {
  test('lists every file of an entry once, even with circular imports', () => {
    assert.deepEqual(built.entry('inbox/inbox.tsx'), {
      script: '/assets/inbox-1.js',
      modules: ['/assets/a.js', '/assets/b.js'],
      styles: ['/assets/i.css', '/assets/a.css'],
    })
  })

  test('has a catalogue for every language but English', () => {
    assert.equal(built.catalogue('de'), '/assets/de-1.js')
    assert.equal(built.catalogue('en'), undefined)
  })

  test('serves scripts and styles, also compressed, and no other file', () => {
    const asset = built.asset('a.js')
    assert.equal(asset?.type, 'text/javascript; charset=utf-8')
    assert.equal(String(asset.bytes), 'a.js')
    assert.equal(String(asset.compressed.br), 'a.js.br')
    assert.equal(String(asset.compressed.gzip), 'a.js.gz')
    for (const name of ['secret.txt', 'a.js.br', '../.vite/manifest.json', '']) {
      assert.equal(built.asset(name), undefined, name)
    }
  })
})

test('without a build there are no files', () => {
  const none = readBuiltPage(join(folder.path, 'nowhere'))
  assert.deepEqual(
    [none.entry('inbox/inbox.tsx'), none.catalogue('de'), none.asset('a.js')],
    [undefined, undefined, undefined],
  )
})
