import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ARCHITECTURES, type Architecture } from '../../../build/runtime.ts'
import { ROOT } from '../app/service-process.ts'
import { debianTarball } from './chroot.ts'
import { fromNpm } from './npm.ts'
import { program } from './programs.ts'

// deploy/Dockerfile is built with buildah and run with runc, which need neither a daemon nor a registry: the base images are made of
// Debian packages and get the names that the Dockerfile uses. Like those, they have no libatomic, and the one for the build has its
// own version of Node.js.

const [NODE_IMAGE = '', DEBIAN_IMAGE = ''] = [
  ...readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8').matchAll(/^FROM (?:--\S+ )?(\S+)/gm),
].map(([, name = '']) => name)

const [, NODE_VERSION = ''] = /node:([\d.]+)-/.exec(NODE_IMAGE) ?? []
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

export interface ImageConfig {
  Env: string[]
  User: string
  WorkingDir: string
  Entrypoint: string[]
  Cmd: string[]
  StopSignal: string
  Labels: Record<string, string>
  Volumes: Record<string, unknown>
  Healthcheck?: { Test: string[] }
}

interface Image {
  architecture: string
  config: ImageConfig
}

/** Reads what an archive says about its image. */
export function inspect(archive: string): Image & { names: string[] } {
  const read = (name: string) =>
    JSON.parse(execFileSync('tar', ['-xzOf', archive, name], { encoding: 'utf8' }))
  const [{ RepoTags: names, Config }] = read('manifest.json')
  return { names, ...read(Config) }
}

/** Images in a folder. `env` makes every buildah use them. */
export function openImages(folder: string) {
  const storage = join(folder, 'storage.conf')
  const settings = ['driver = "vfs"', `graphroot = "${folder}/root"`, `runroot = "${folder}/run"`]
  writeFileSync(storage, `[storage]\n${settings.join('\n')}\n`)
  const own = { CONTAINERS_STORAGE_CONF: storage, BUILDAH_ISOLATION: 'chroot', TMPDIR: folder }
  const env = { ...process.env, ...own }
  const buildah = (...args: string[]) =>
    execFileSync(program('buildah'), args, {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 100_000_000,
    }).trim()

  function makeBase(
    name: string,
    architecture: Architecture | undefined,
    fill: (container: string) => void = () => {},
  ): void {
    const container = buildah('from', 'scratch')
    buildah('add', container, debianTarball(architecture), '/')
    fill(container)
    if (architecture) buildah('config', '--arch', architecture, container)
    buildah('commit', '--quiet', '--rm', container, name)
  }

  return {
    env,
    buildah,
    makeBases(): void {
      makeBase(NODE_IMAGE, undefined, (container) => {
        const command = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' })
        const npm = join(realpathSync(command.trim()), '../..')
        const node = fromNpm(`node-linux-${process.arch}`, NODE_VERSION, 'bin/node')
        buildah('copy', container, node, '/usr/local/bin/node')
        buildah('copy', container, npm, '/usr/local/lib/node_modules/npm')
        buildah('copy', container, CERTIFICATES, CERTIFICATES)
        buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, container)
        const link = ['ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm']
        buildah('run', container, '--', ...link)
      })
      // One name for all architectures, as in a registry.
      buildah('manifest', 'create', DEBIAN_IMAGE)
      for (const architecture of ARCHITECTURES) {
        const name = `localhost/debian:${architecture}`
        makeBase(name, architecture)
        buildah('manifest', 'add', DEBIAN_IMAGE, name)
      }
    },
    /** Unpacks an archive; the path of its files. */
    unpack(archive: string, architecture: Architecture): string {
      const tar = join(folder, `${architecture}.tar`)
      // buildah does not read compressed archives.
      execFileSync('sh', ['-c', 'gzip -dc "$1" > "$2"', 'sh', archive, tar])
      const container = buildah('from', '--arch', architecture, `docker-archive:${tar}`)
      rmSync(tar)
      return buildah('mount', container)
    },
  }
}

export interface Container {
  child: ChildProcess
  output(): string
  /** Runs a command in the container. */
  exec(command: readonly string[]): { status: number | null; stdout: string; stderr: string }
  signal(name: string): void
  remove(): void
}

/**
 * Runs the files of an image like `docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges --network host`,
 * with a folder as its /data.
 */
export function startContainer(
  { root, config }: { root: string; config: ImageConfig },
  { folder, data, settings }: { folder: string; data: string; settings: Record<string, string> },
): Container {
  const runc = ['--root', join(folder, 'runc')]
  const id = `mayfly-test-${process.pid}`
  const [uid = 0, gid = 0] = config.User.split(':').map(Number)
  const mount = (type: string, destination: string, options: string[] = []) => ({
    type,
    source: type,
    destination,
    options: ['nosuid', ...options],
  })
  const spec = {
    ociVersion: '1.0.2',
    process: {
      args: [...config.Entrypoint, ...config.Cmd],
      env: [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)],
      cwd: config.WorkingDir,
      user: { uid, gid },
      capabilities: {},
      noNewPrivileges: true,
    },
    root: { path: root, readonly: true },
    mounts: [
      mount('proc', '/proc', ['nodev']),
      mount('tmpfs', '/dev', ['mode=755']),
      mount('tmpfs', '/tmp', ['nodev']),
      { type: 'bind', source: data, destination: '/data', options: ['bind', 'rw'] },
    ],
    linux: { namespaces: ['mount', 'pid', 'ipc', 'uts'].map((type) => ({ type })) },
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(spec))
  const run = [...runc, 'run', '--bundle', folder, id]
  const child = spawn(program('runc'), run, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (part) => {
      output += part
    })
  }
  const control = (...args: string[]) =>
    spawnSync(program('runc'), [...runc, ...args], { encoding: 'utf8' })
  return {
    child,
    output: () => output,
    exec: (command) => control('exec', id, ...command),
    signal: (name) => void control('kill', id, name),
    remove: () => void control('delete', '--force', id),
  }
}
