import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pack, stagePackage } from '../build/npm-package.ts'
import { readFirstMail } from './kit/app/first-mail.ts'
import { freeServicePorts, ROOT, spawnService } from './kit/app/service-process.ts'
import { onTerminal } from './kit/programs/terminal.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

// The npm package, installed from its tarball, on our Node.js; in `npm run test:long` also on the oldest that it supports, with npx, and
// as npm would publish it. Both Node.js are from npm.

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const NAME = '@mayfly-mail/mayfly'
/** Options that make ours report another version. */
const OLD_NODE = [
  '--import',
  "data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '20.1.0' } })",
]

const folder = tempFolder(DISK)
// Child processes run as another user.
chmodSync(folder.path, 0o755)
const staged = join(folder.path, 'staged')
/** Where `npm install --global` puts it; programs in this folder find the package. */
const installed = join(folder.path, 'global-26/lib')
let tarball: string

beforeAll(() => {
  stagePackage(staged)
  tarball = pack(staged, folder.path).path
}, 120_000)
afterAll(folder.remove)

/** Runs npm or npx with this Node.js, like a user who has installed nothing else. */
function npm(node: string, [program = 'npm', ...args]: string[]): string {
  const quiet = { prefer_offline: 'true', audit: 'false', fund: 'false', loglevel: 'error' }
  const options = Object.entries(quiet).map(([name, value]) => [`npm_config_${name}`, value])
  return execFileSync(program, args, {
    cwd: folder.path,
    env: { ...process.env, ...Object.fromEntries(options), PATH: pathWith(dirname(node)) },
    encoding: 'utf8',
  })
}

/** 0 if there is none. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))
}

/** The last of a chain of child processes. */
function leafOf(pid: number): number {
  const child = childOf(pid)
  return child === 0 ? pid : leafOf(child)
}

const pathWith = (...folders: string[]) => [...folders, process.env['PATH']].join(':')

/** Kept with the other packages. */
function nodeOf(version: string): string {
  const name = `node-${process.platform}-${process.arch}`
  const cache = join(ROOT, `node_modules/.cache/node-${version.slice(0, 2)}`)
  const program = join(cache, `node_modules/${name}/bin/node`)
  if (!existsSync(program)) {
    npm(process.execPath, ['npm', 'install', '--prefix', cache, `${name}@${version}`])
  }
  return program
}

for (const [major, find] of [
  ['26', () => process.execPath],
  ...(LONG ? [['24', () => nodeOf('24.20.0')] as const] : []),
] as const) {
  describe(`on Node.js ${major}`, () => {
    const prefix = join(folder.path, `global-${major}`)
    let node: string

    beforeAll(() => {
      node = find()
      npm(node, ['npm', 'install', '--global', '--prefix', prefix, tarball])
    }, 120_000)

    test('npm install --global: it receives a mail, parses it and shows it on the page', async () => {
      const empty = join(folder.path, `empty-${major}`)
      mkdirSync(empty)
      const served = await spawnService({
        folder: join(folder.path, `data-${major}`),
        ports: await freeServicePorts(),
        env: {
          MAYFLY_AUTH_CHECKS: 'on',
          MAYFLY_DNS: '127.0.0.1:9',
          PATH: pathWith(join(prefix, 'bin'), dirname(node)),
        },
        root: empty,
        command: ['mayfly', 'serve'],
        under: onTerminal(),
      })
      expect(readlinkSync(`/proc/${childOf(served.pid)}/exe`)).toBe(realpathSync(node))
      await readFirstMail(served)
      expect(await served.kill('SIGTERM'), served.output()).toBe(0)
      expect(served.output()).not.toMatch(/"level":"(warn|error)"|Warning/)
      expect(served.output()).toMatch(/ or run: {2}mayfly inbox$/m)
    })

    test.runIf(LONG)('npx runs the tarball', async () => {
      const served = await spawnService({
        folder: join(folder.path, `npx-${major}`),
        ports: await freeServicePorts(),
        env: { PATH: pathWith(dirname(node)), npm_config_yes: 'true' },
        root: folder.path,
        command: ['npx', `./${basename(tarball)}`, 'serve'],
      })
      // npx starts a shell, which does not pass signals on.
      const pid = leafOf(served.pid)
      expect(readlinkSync(`/proc/${pid}/exe`)).toBe(realpathSync(node))
      process.kill(pid, 'SIGTERM')
      expect(await served.exited, served.output()).toBe(0)
    })
  })
}

test('on an older Node.js it names the version that it needs, and not npm start', () => {
  const bin = join(installed, `node_modules/${NAME}/bin/mayfly.js`)
  const { status, stderr } = spawnSync(process.execPath, [...OLD_NODE, bin], { encoding: 'utf8' })
  expect([status, stderr]).toStrictEqual([
    1,
    'mayfly needs Node.js 24 or newer, and this is 20.1.0.\n',
  ])
})

// Which exports of Node.js it imports is checked before the first line runs, so only an older one can tell.
for (const [version, options, find] of [
  ['20.1.0', OLD_NODE, () => process.execPath],
  ...(LONG ? [['20.20.2', [], () => nodeOf('20.20.2')] as const] : []),
] as const) {
  test(`programs on Node.js ${version} get an error that names the version`, () => {
    const program = `
      for (const name of ['${NAME}', '${NAME}/test'])
        await import(name)
          .then(({ startMayfly }) => startMayfly({}))
          .catch(({ message }) => console.log(message))`
    writeFileSync(join(installed, 'old.mjs'), program)
    const { stdout, stderr } = spawnSync(find(), [...options, 'old.mjs'], {
      cwd: installed,
      encoding: 'utf8',
    })
    const line = `Mayfly needs Node.js 24 or newer, and this is ${version}.\n`
    expect([stdout, stderr]).toStrictEqual([line.repeat(2), ''])
  })
}

test('it has types for what it exports', () => {
  const program = (settings: string) => `
    import { type Mayfly, startMayfly } from '${NAME}'
    const mayfly: Mayfly = await startMayfly(${settings})
    export const port: number = mayfly.smtpPort`
  writeFileSync(join(installed, 'good.mts'), program("{ MAYFLY_DATA: 'data' }"))
  writeFileSync(join(installed, 'bad.mts'), program('{ MAYFLY_HTTP_PORT: 1 }'))
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext']
  const { stdout } = spawnSync(
    join(ROOT, 'node_modules/.bin/tsc'),
    [...options, 'good.mts', 'bad.mts'],
    { cwd: installed, encoding: 'utf8' },
  )
  const [only = '', ...others] = stdout.match(/^.*: error .*$/gm) ?? []
  expect(only).toMatch(/^bad\.mts\(3,\d+\): error TS2322: Type 'number' /)
  expect(others).toStrictEqual([])
})

test('a program can start and stop it, and keeps its own stack traces', () => {
  const program = `
    const { prepareStackTrace } = Error
    const { startMayfly } = await import('${NAME}')
    const settings = { MAYFLY_DATA: 'data', MAYFLY_HOST: '127.0.0.1', MAYFLY_HTTP_PORT: '0', MAYFLY_SMTP_PORT: '0' }
    const mayfly = await startMayfly(settings)
    console.log((await fetch(\`http://127.0.0.1:\${mayfly.httpPort}/readyz\`)).status)
    await mayfly.stop()
    await mayfly.stop()
    console.log(Error.prepareStackTrace === prepareStackTrace)`
  writeFileSync(join(installed, 'program.mjs'), program)
  const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], {
    cwd: installed,
    encoding: 'utf8',
    timeout: 30_000,
  })
  expect([status, stdout, stderr]).toStrictEqual([0, '200\ntrue\n', ''])
})

test('it installs one dependency, runs no script and contains nothing of the tests', () => {
  const manifest = JSON.parse(
    readFileSync(join(installed, `node_modules/${NAME}/package.json`), 'utf8'),
  )
  expect(Object.keys(manifest.dependencies)).toStrictEqual(['better-sqlite3'])
  expect(manifest.engines.node).toBe('>=24')
  for (const field of ['scripts', 'optionalDependencies', 'devDependencies', 'private']) {
    expect(manifest[field], field).toBeUndefined()
  }
  const files = execFileSync('tar', ['-tf', tarball], { encoding: 'utf8' }).trim().split('\n')
  const roots = new Set(files.map((path) => path.split('/')[1]))
  const expected = ['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'package.json']
  expect([...roots].sort()).toStrictEqual(expected)
  expect(files.filter((path) => /\.(test|eml)\b|testing/.test(path))).toStrictEqual([])
})

test.runIf(LONG)('npm would publish the tarball as it is', () => {
  const { status, stderr } = spawnSync('npm', ['publish', '--dry-run', tarball], {
    cwd: folder.path,
    encoding: 'utf8',
  })
  expect(status, stderr).toBe(0)
  expect(stderr).not.toMatch(/npm warn publish (?!.*logged in)|auto-corrected/)
})
