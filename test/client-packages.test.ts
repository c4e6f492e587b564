import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packClients, stageClient } from '../build/client-packages.ts'
import { pack } from '../build/npm-package.ts'
import { type App, startApp } from './kit/app/app.ts'
import { ROOT } from './kit/app/service-process.ts'
import { launchBrowser } from './kit/page/browser.ts'
import { fromNpm, npm } from './kit/programs/npm.ts'
import { program } from './kit/programs/programs.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

// The clients as they are published.

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const NODE_20 = '20.20.2'
const PYRIGHT = '1.1.414'

const folder = tempFolder(DISK)
const staged = join(folder.path, 'staged')
const installed = join(folder.path, 'installed')
let tarball: string

beforeAll(() => {
  stageClient(staged)
  tarball = pack(staged, folder.path).path
  mkdirSync(installed)
  writeFileSync(join(installed, 'package.json'), '{}')
  npm(installed, ['install', tarball])
}, 120_000)
afterAll(folder.remove)

const node20 = () => fromNpm(`node-${process.platform}-${process.arch}`, NODE_20, 'bin/node')
const pyright = () => fromNpm('pyright', PYRIGHT, 'index.js')

test('the JavaScript package contains its modules and types, and depends on nothing', () => {
  const names = execFileSync('tar', ['-tf', tarball], { encoding: 'utf8' }).trim().split('\n')
  const modules = [
    ...['api', 'events', 'mailbox', 'mayfly', 'own-domains', 'request', 'sessions', 'wait'],
    ...['webhook', 'webhooks'],
  ]
  expect(names.sort()).toEqual(
    [
      ...['LICENSE', 'README.md', 'package.json'],
      ...modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]),
    ]
      .map((name) => `package/${name}`)
      .sort(),
  )
  const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8'))
  expect([manifest.version, manifest.dependencies, manifest.private]).toStrictEqual([
    version,
    undefined,
    undefined,
  ])
})

test('npm would publish the JavaScript package as it is', () => {
  const { status, stderr } = spawnSync('npm', ['publish', '--dry-run'], {
    cwd: staged,
    encoding: 'utf8',
  })
  expect(status, stderr).toBe(0)
  expect(stderr).not.toMatch(/npm warn publish (?!.*logged in)|auto-corrected/)
})

for (const [where, options] of [
  ['Node.js', ['--module', 'nodenext', '--typeRoots', join(ROOT, 'node_modules/@types')]],
  ['browsers', ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'esnext,dom']],
] as const) {
  test(`the JavaScript package has types for ${where}`, () => {
    const program = (argument: string) => `
      import { Mayfly, type Message } from '@mayfly-mail/client'
      const mailbox = await new Mayfly({ url: 'http://localhost' }).createMailbox()
      export const message: Message = await mailbox.waitForMessage({ ${argument} })
      for await (const event of mailbox.events()) if (event.type === 'end') event.reason satisfies string`
    const check = (argument: string) => {
      writeFileSync(join(installed, 'program.mts'), program(argument))
      const args = ['--noEmit', '--strict', '--target', 'esnext', ...options, 'program.mts']
      return spawnSync(join(ROOT, 'node_modules/.bin/tsc'), args, {
        cwd: installed,
        encoding: 'utf8',
      }).stdout
    }
    expect(check("from: 'shop.test', timeout: 1_000")).toBe('')
    expect(check('timeout: true')).toMatch(/^program\.mts\(4,\d+\): error TS2322: Type 'boolean' /)
  })
}

describe('the JavaScript package waits for mail', () => {
  let app: App
  beforeAll(async () => {
    app = await startApp()
  })
  afterAll(() => app.stop())

  /** For a mailbox that has a mail with a code. */
  async function program(log: string): Promise<string> {
    const { email, token } = await app.session()
    await app.mail(email)
    return `
      const mailbox = await new Mayfly({ url: '${app.url}' }).openMailbox('${token}')
      for await (const { type } of mailbox.events({ since_id: 0 })) if (type === 'message') break
      ${log}(await mailbox.waitForCode())
      await mailbox.waitForMessage({ timeout: 100 }).catch((error) => ${log}(error.name))`
  }

  test('on Node.js 20', async () => {
    const node = node20()
    expect(execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()).toBe(`v${NODE_20}`)
    const start = "import { Mayfly } from '@mayfly-mail/client'"
    writeFileSync(join(installed, 'program.mjs'), start + (await program('console.log')))
    const output = await promisify(execFile)(node, ['program.mjs'], { cwd: installed })
    expect(output).toStrictEqual({ stdout: '123456\nMayflyTimeoutError\n', stderr: '' })
  })

  test('in a browser, on a page of another origin', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/') response.setHeader('content-type', 'text/html').end('<title>Page')
      else if (request.url?.endsWith('.js'))
        response
          .setHeader('content-type', 'text/javascript')
          .end(readFileSync(join(staged, request.url)))
      else response.writeHead(404).end()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const browser = await launchBrowser()
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const logged = await page.evaluate(`(async () => {
      const { Mayfly } = await import('/dist/mayfly.js')
      const logged = []
      ${await program('logged.push')}
      return logged
    })()`)
    await browser.close()
    server.close()
    expect(logged).toStrictEqual(['123456', 'MayflyTimeoutError'])
  })
})

test('npm pack refuses clients/js, which is not built; npm run pack:clients builds both clients', () => {
  const pack = () => npm(join(ROOT, 'clients/js'), ['pack', '--dry-run'])
  expect(pack).toThrow(/must have name and version/)
  const built = join(folder.path, 'from-clone')
  npm(ROOT, ['run', '--silent', 'pack:clients', built])
  expect(readdirSync(built).sort()).toStrictEqual([
    `mayfly-mail-client-${version}.tgz`,
    `mayfly_mail-${version}-py3-none-any.whl`,
    `mayfly_mail-${version}.tar.gz`,
  ])
})

test('the Python client has complete types', () => {
  const sources = join(ROOT, 'clients/python')
  const options = ['--strict', '--python-version=3.9', '--cache-dir', join(folder.path, 'mypy')]
  const checked = spawnSync(program('mypy'), [...options, '-p', 'mayfly_mail'], {
    cwd: sources,
    encoding: 'utf8',
  })
  expect(checked.stdout).toMatch(/^Success: no issues found/)
  const verified = spawnSync(
    process.execPath,
    [pyright(), '--verifytypes', 'mayfly_mail', '--ignoreexternal', '--outputjson'],
    { cwd: sources, encoding: 'utf8', env: { ...process.env, PYTHONPATH: sources } },
  )
  const { typeCompleteness } = JSON.parse(verified.stdout)
  expect(typeCompleteness.completenessScore, verified.stdout).toBe(1)
})

test('pip installs the Python client without a network', () => {
  const target = join(folder.path, 'offline')
  const args = ['install', '--no-index', '--target', target, join(ROOT, 'clients/python')]
  execFileSync(program('pip3'), [...args, '--quiet', '--root-user-action=ignore'])
  expect(existsSync(join(target, 'mayfly_mail/py.typed'))).toBe(true)
})

test('the Python packages contain the client and its pytest plugin, and nothing of its tests', async () => {
  const built = join(folder.path, 'built')
  packClients(built)
  const wheel = join(built, `mayfly_mail-${version}-py3-none-any.whl`)
  const list = execFileSync(program('python3'), ['-m', 'zipfile', '-l', wheel], {
    encoding: 'utf8',
  })
  const modules = [...list.matchAll(/^mayfly_mail\/(\S+)/gm)].map(([, name]) => name)
  const sources = readdirSync(join(ROOT, 'clients/python/mayfly_mail'))
  expect(modules.sort()).toStrictEqual(sources.filter((name) => /\.(py|typed)$/.test(name)).sort())
  const source = join(built, `mayfly_mail-${version}.tar.gz`)
  const contents = execFileSync('tar', ['-tf', source], { encoding: 'utf8' })
  expect(contents).toMatch(/pyproject\.toml/)
  expect(contents).not.toMatch(/\/test/)

  // As pip installs it: unpacked, where Python finds it and pytest its entry point.
  const site = join(folder.path, 'site')
  execFileSync(program('python3'), ['-m', 'zipfile', '-e', wheel, site])
  writeFileSync(
    join(folder.path, 'test_it.py'),
    'def test_it(mailbox):\n    assert "@" in mailbox.email\n',
  )
  const app = await startApp()
  const env = { ...process.env, PYTHONPATH: site, MAYFLY_URL: app.url }
  const { stdout } = await promisify(execFile)(
    program('pytest-3'),
    ['-q', '-p', 'no:cacheprovider', 'test_it.py'],
    { cwd: folder.path, env },
  ).finally(app.stop)
  expect(stdout).toMatch(/^1 passed/m)
})
