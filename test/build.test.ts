import { spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changelog, releaseDate, releaseNotes } from '../build/changelog.ts'
import { replaceFolder } from '../build/sources.ts'
import { startChild } from '../src/sandbox/process.ts'
import { freeServicePorts, ROOT, SOURCE, spawnService } from './kit/app/service-process.ts'
import { tempFolder } from './kit/store/stores.ts'

// dist/ as `npm run build` makes it (by test/kit/global/bundle.ts before the first test).

const folder = tempFolder()
afterAll(folder.remove)

const mayfly = (root: string, args: string[], env = {}) =>
  spawnSync(process.execPath, [SOURCE, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })

describe('bin/mayfly.js runs', () => {
  const clone = join(folder.path, 'clone')
  const now = new Date()
  const later = new Date(now.getTime() + 60_000)
  const touch = (path: string, time: Date) => utimesSync(join(clone, path), time, time)
  const program = () => {
    const { stdout, stderr } = mayfly(clone, ['--version'])
    expect(stderr).toBe('')
    return stdout.trim()
  }

  beforeAll(() => {
    for (const name of ['bin', 'src', 'clients/js/src', 'package.json', 'package-lock.json']) {
      cpSync(join(ROOT, name), join(clone, name), { recursive: true, preserveTimestamps: true })
    }
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  })

  test('src/ without a build', () => expect(program()).toMatch(/^\d+\.\d+\.\d+$/))

  describe('with a build', () => {
    // What each program would do is of no interest here, and compiling src/ takes long.
    beforeAll(() => {
      cpSync(join(ROOT, 'dist/sources'), join(clone, 'dist/sources'))
      for (const name of ['dist/main.js', 'src/main.ts']) {
        writeFileSync(join(clone, name), `console.log('${dirname(name)}')\n`)
      }
      touch('dist/sources', later)
    })

    test('dist/ when it is newer than src/', () => expect(program()).toBe('dist'))

    for (const [found, change, path] of [
      ['src', 'a change of src/base/address.ts', 'src/base/address.ts'],
      ['src', 'a change of src/store/sqlite', 'src/store/sqlite'],
      ['src', 'a change of the client, which it contains', 'clients/js/src/mayfly.ts'],
      ['dist', '`npm prune`, which rewrites package-lock.json', 'package-lock.json'],
      ['dist', 'a change of a test', 'src/base/address.test.ts'],
    ] as const) {
      test(`${found}/ after ${change}`, () => {
        touch(path, new Date(later.getTime() + 1_000))
        expect(program()).toBe(found)
        touch(path, now)
      })
    }

    test('dist/ without src/, as it is installed', () => {
      rmSync(join(clone, 'src'), { recursive: true })
      expect(program()).toBe('dist')
    })
  })
})

test('npm start builds what has changed and runs it', () => {
  const clone = join(folder.path, 'changed')
  const folders = ['bin', 'build', 'clients', 'dist', 'src', 'web']
  for (const name of [...folders, 'package-lock.json', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(clone, name), { recursive: true, preserveTimestamps: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  // Each program is one line, because the real ones take long to build. Other tests run those from dist/.
  const programs = globSync('{*,*/*}.js', { cwd: join(clone, 'dist'), exclude: ['chunks'] })
  expect(programs.includes('main.js') && programs.includes('runtime/http.js')).toBeTruthy()
  for (const name of programs) {
    const source = join(clone, 'src', name.replace(/js$/, 'ts'))
    writeFileSync(source, `console.log('changed: ${name}')\n`)
  }
  const options = { cwd: clone, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync('npm', ['start'], options)
  expect(status, stderr).toBe(0)
  expect(stdout).toMatch(/^changed: main\.js$/m)
  for (const name of programs) {
    const built = readFileSync(join(clone, 'dist', name), 'utf8')
    expect(built, name).toContain(`changed: ${name}`)
  }
})

test('a stack trace of the build names the file and the line in src', () => {
  const env = { MAYFLY_DATA: join(folder.path, 'data') }
  expect(mayfly(ROOT, ['domain', 'list'], env).status).toBe(0)
  const db = new Database(join(env.MAYFLY_DATA, 'mail.db'))
  db.exec('ALTER TABLE mail_domain RENAME TO gone')
  db.close()
  const { status, stderr } = mayfly(ROOT, ['domain', 'list'], env)
  expect(status).toBe(1)
  expect(stderr).toMatch(/^SqliteError: no such table: mail_domain$/m)
  expect(stderr).toMatch(/^ {4}at .*\(file:\/\/\S+\/src\/store\/sqlite\/[\w/-]+\.ts:\d+:\d+\)$/m)
  expect(stderr).not.toMatch(/^ {4}at .*\/dist\//m)
})

test('so does one of a thread', async () => {
  const data = join(folder.path, 'threads')
  const served = await spawnService({ folder: data, ports: await freeServicePorts() })
  const db = new Database(join(data, 'mail.db'))
  db.exec('ALTER TABLE session RENAME TO gone')
  db.close()
  const { status } = await fetch(`${served.url}/api/check-mail?token=${'t'.repeat(43)}`)
  expect(status).toBe(500)
  await served.kill('SIGTERM')
  const lines = served.output().split('\n')
  const { thread, err } = JSON.parse(lines.find((line) => line.includes('SqliteError')) ?? '{}')
  expect(thread).toBe('http-1')
  expect(err.stack).toMatch(/\/src\/store\/sqlite\/[\w/-]+\.ts:\d+:\d+\)$/m)
  expect(err.stack).not.toMatch(/\/dist\//)
})

test('so does one of a child process', async () => {
  const script = pathToFileURL(join(ROOT, 'dist/mime/child.js'))
  const limits = { startMs: 30_000, cpuMs: 1_000, wallMs: 30_000, memoryMb: 512 }
  const child = startChild({ name: 'mail', script, folders: [] }, limits)
  const { outcome } = await child.run({ kind: 'parse', raw: undefined })
  await child.end()
  expect('location' in outcome ? outcome.location : '').toMatch(
    /^TypeError at .*\(src\/mime\/[\w-]+\.ts:\d+:\d+\)/,
  )
})

test('no file of the build contains a path of the machine it was built on', () => {
  const names = globSync('**/*.{js,map,css,json}', { cwd: join(ROOT, 'dist') })
  expect(names).toContain('main.js')
  expect(names.some((name) => name.startsWith('page/assets/'))).toBeTruthy()
  const found = names.filter((name) =>
    readFileSync(join(ROOT, 'dist', name), 'utf8').includes(ROOT),
  )
  expect(found).toStrictEqual([])
})

test('builds at the same time leave one that is complete', async () => {
  // On the same disk as dist/.
  const target = mkdtempSync(join(ROOT, 'dist-target-'))
  const files = ['one', 'two', 'three']
  const build = (number: number) =>
    replaceFolder(target, async (made) => {
      mkdirSync(made)
      for (const name of files) {
        writeFileSync(join(made, name), String(number))
        await setTimeout(Math.random() * 10)
      }
    })
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([build(1), build(2), build(3)])
    const texts = files.map((name) => readFileSync(join(target, name), 'utf8'))
    expect(new Set(texts).size).toBe(1)
  }
  rmSync(target, { recursive: true })
  expect(globSync('dist-*', { cwd: ROOT })).toStrictEqual([])
})

test('a build that cannot be put in place leaves the last one', async () => {
  const target = mkdtempSync(join(folder.path, 'target-'))
  writeFileSync(join(target, 'last'), '')
  await expect(replaceFolder(target, async () => {})).rejects.toThrow(/ENOENT/)
  expect(globSync('*', { cwd: target })).toStrictEqual(['last'])
})

describe('the notes of a release', () => {
  const CHANGES =
    '# Changelog\n\n## Unreleased\n\n## 1.1.0 (2026-02-03)\n\n- New.\n\n## 1.0.0 (2026-01-02)\n\n- Old.\n'

  test('are the section of the version', () => {
    expect(releaseNotes(CHANGES, '1.1.0')).toBe('- New.\n')
    expect(releaseNotes(CHANGES, '1.0.0')).toBe('- Old.\n')
    expect(releaseDate(CHANGES)).toBe('2026-02-03')
  })

  test('are refused without that section, and while there are unreleased changes', () => {
    expect(() => releaseNotes(CHANGES, '1.2.0')).toThrow(/has no section for 1\.2\.0$/)
    const changed = CHANGES.replace('Unreleased\n', 'Unreleased\n\n- Newer.\n')
    expect(() => releaseNotes(changed, '1.1.0')).toThrow(/has unreleased changes/)
    expect(releaseNotes(changed, '1.1.0', { isTrial: true })).toBe('- New.\n')
  })

  test('exist for the version of package.json', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(releaseNotes(changelog(), version, { isTrial: true })).toMatch(/^- /m)
  })
})
