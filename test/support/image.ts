import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { debianTarball } from './chroot.ts'
import { program } from './programs.ts'
import { ROOT } from './service-process.ts'

// Builds and runs deploy/Dockerfile with buildah, which needs neither a daemon nor a registry: its base images are made of
// Debian packages and get the names that the Dockerfile uses.

const [NODE_IMAGE = '', DEBIAN_IMAGE = ''] = [
  ...readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8').matchAll(/^FROM (?:--\S+ )?(\S+)/gm),
].map(([, name]) => `docker.io/library/${name}`)

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

export interface ImageConfig {
  Env: string[]
  User: string
  WorkingDir: string
  Entrypoint: string[]
  Cmd: string[]
  StopSignal: string
  Labels: Record<string, string>
  Healthcheck?: { Test: string[] }
}

export function openImages(folder: string) {
  const registries = join(folder, 'registries.conf')
  writeFileSync(registries, 'unqualified-search-registries = ["docker.io"]\n')
  const storage = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run')]
  const common = ['--storage-driver', 'vfs', ...storage, '--registries-conf', registries]
  const env = { ...process.env, TMPDIR: folder, BUILDAH_ISOLATION: 'chroot' }
  const buildah = (...args: string[]) =>
    execFileSync(program('buildah'), [...common, ...args], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 100_000_000,
    }).trim()

  function makeBase(name: string, fill: (container: string) => void): void {
    const container = buildah('from', 'scratch')
    buildah('add', container, debianTarball(), '/')
    fill(container)
    buildah('commit', '--quiet', '--rm', container, name)
  }

  return {
    buildah,
    makeBases(): void {
      makeBase(DEBIAN_IMAGE, () => {})
      makeBase(NODE_IMAGE, (container) => {
        const command = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' })
        const npm = join(realpathSync(command.trim()), '../..')
        buildah('copy', container, process.execPath, '/usr/local/bin/node')
        buildah('copy', container, npm, '/usr/local/lib/node_modules/npm')
        buildah('copy', container, CERTIFICATES, CERTIFICATES)
        buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, container)
        const link = ['ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm']
        buildah('run', container, '--', ...link)
      })
    },
    build(name: string, ...options: string[]): void {
      const file = ['--file', join(ROOT, 'deploy/Dockerfile')]
      buildah('build', '--pull-never', ...options, ...file, '--tag', name, ROOT)
    },
    configOf(name: string): { architecture: string; config: ImageConfig } {
      return JSON.parse(buildah('inspect', '--type', 'image', name)).OCIv1
    },
    /** Runs the entry point in a container of the image, as its user. */
    start(name: string, settings: Record<string, string>): ChildProcess {
      const container = buildah('from', '--pull-never', name)
      const { config } = this.configOf(name)
      const options = Object.entries(settings).flatMap(([key, value]) => [
        '--env',
        `${key}=${value}`,
      ])
      const command = [...config.Entrypoint, ...config.Cmd]
      const run = [...common, 'run', ...options, container, '--', ...command]
      return spawn(program('buildah'), run, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    },
  }
}
