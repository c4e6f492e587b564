import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pack, stagePackage } from '../build/npm-package.ts'
import { checkMail, createSession } from './support/api-client.ts'
import { MAIL } from './support/app.ts'
import { freeServicePorts, ROOT, spawnService } from './support/service-process.ts'
import { connectSmtp } from './support/smtp-client.ts'
import { DISK, tempFolder } from './support/stores.ts'

// The npm package, installed from its tarball into an empty folder, on the oldest Node.js that it supports and on ours.

const NAME = '@mayfly-mail/mayfly'
const NODE_24 = '24.20.0'

const folder = tempFolder(DISK)
// Child processes run as another user.
chmodSync(folder.path, 0o755)
const staged = join(folder.path, 'staged')
const installed = join(folder.path, 'installed')
let tarball: string

beforeAll(() => {
  stagePackage(staged)
  tarball = pack(staged, folder.path).path
  mkdirSync(installed)
  writeFileSync(join(installed, 'package.json'), '{}')
  npm(installed, ['install', tarball])
}, 120_000)
afterAll(folder.remove)

function npm(cwd: string, args: string[]): string {
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  return execFileSync('npm', [...args, ...quiet], { cwd, encoding: 'utf8' })
}

/** Node.js 24 from npm; kept with the other packages. */
function node24(): string {
  const name = `node-${process.platform}-${process.arch}`
  const cache = join(ROOT, 'node_modules/.cache/node-24')
  const program = join(cache, `node_modules/${name}/bin/node`)
  if (!existsSync(program)) {
    mkdirSync(cache, { recursive: true })
    writeFileSync(join(cache, 'package.json'), '{}')
    npm(cache, ['install', `${name}@${NODE_24}`])
  }
  return program
}

for (const [version, find] of [
  ['24', node24],
  ['26', () => process.execPath],
] as const) {
  test(`on Node.js ${version} it receives a mail, parses it and serves the page`, async () => {
    const node = find()
    expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(`v${version}.`)
    const served = await spawnService({
      folder: join(folder.path, `data-${version}`),
      ports: await freeServicePorts(),
      env: { MAYFLY_AUTH_CHECKS: 'on', MAYFLY_DNS: '127.0.0.1:9' },
      root: installed,
      main: 'node_modules/.bin/mayfly',
      node,
    })
    const { email, token } = await createSession(served.url)
    const client = await connectSmtp(served.smtpPort)
    assert.equal((await client.send({ to: [email], raw: MAIL })).code, 250)
    client.close()
    const [{ id = 0 } = {}] = await checkMail(served.url, token)
    const mail = await fetch(`${served.url}/api/read-mail?token=${token}&id=${id}`)
    assert.match(await mail.text(), /Your code is 123456/)
    const page = await (await fetch(served.url)).text()
    const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(page) ?? []
    assert.equal((await fetch(`${served.url}${script}`)).status, 200)
    assert.equal(await served.kill('SIGTERM'), 0, served.output())
    assert.doesNotMatch(served.output(), /"level":"(warn|error)"|Warning/)
    assert.match(served.output(), / or run: {2}mayfly inbox$/m)
  })
}

test('npx runs it', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const run = ['exec', '--yes', `--package=${tarball}`, '--', 'mayfly', '--version']
  assert.equal(npm(folder.path, run).trim(), version)
})

test('it has types for what it exports', () => {
  const [good, bad] = ['good.mts', 'bad.mts'].map((name) => join(installed, name))
  const program = (settings: string) => `
    import { type Mayfly, startMayfly } from '${NAME}'
    const mayfly: Mayfly = await startMayfly(${settings})
    export const port: number = mayfly.smtpPort`
  writeFileSync(good ?? '', program("{ MAYFLY_DATA: 'data' }"))
  writeFileSync(bad ?? '', program('{ MAYFLY_HTTP_PORT: 1 }'))
  const check = (file = '') =>
    spawnSync(
      join(ROOT, 'node_modules/.bin/tsc'),
      ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', file],
      { cwd: installed, encoding: 'utf8' },
    )
  assert.equal(check(good).stdout, '')
  assert.match(check(bad).stdout, /^bad\.mts\(3,\d+\): error TS2322: Type 'number' /)
})

test('a program can start and stop it, and keeps its own stack traces', () => {
  const program = `
    const { prepareStackTrace } = Error
    const { startMayfly } = await import('${NAME}')
    const settings = { MAYFLY_DATA: 'data', MAYFLY_HOST: '127.0.0.1', MAYFLY_HTTP_PORT: '0', MAYFLY_SMTP_PORT: '0' }
    const mayfly = await startMayfly(settings)
    console.log((await fetch(\`http://127.0.0.1:\${mayfly.httpPort}/readyz\`)).status)
    await mayfly.stop()
    console.log(Error.prepareStackTrace === prepareStackTrace)`
  writeFileSync(join(installed, 'program.mjs'), program)
  const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], {
    cwd: installed,
    encoding: 'utf8',
  })
  assert.deepEqual([status, stdout, stderr], [0, '200\ntrue\n', ''])
})

test('it installs one dependency, runs no script and contains nothing of the tests', () => {
  const manifest = JSON.parse(
    readFileSync(join(installed, `node_modules/${NAME}/package.json`), 'utf8'),
  )
  assert.deepEqual(Object.keys(manifest.dependencies), ['better-sqlite3'])
  assert.equal(manifest.engines.node, '>=24')
  for (const field of ['scripts', 'optionalDependencies', 'devDependencies', 'private']) {
    assert.equal(manifest[field], undefined, field)
  }
  const files = execFileSync('tar', ['-tf', tarball], { encoding: 'utf8' }).trim().split('\n')
  const roots = new Set(files.map((path) => path.split('/')[1]))
  const expected = ['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'package.json']
  assert.deepEqual([...roots].sort(), expected)
  assert.deepEqual(
    files.filter((path) => /\.(test|eml)\b|testing/.test(path)),
    [],
  )
})

test('npm would publish it as it is', () => {
  const { status, stderr } = spawnSync('npm', ['publish', '--dry-run'], {
    cwd: staged,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  assert.doesNotMatch(stderr, /npm warn publish|auto-corrected/)
})
