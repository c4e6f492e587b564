import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { type Architecture, ownArchitecture } from '../../../build/runtime.ts'
import { ROOT } from '../app/service-process.ts'
import { DISK, tempFolder } from '../store/stores.ts'
import { program } from './programs.ts'

// A small Debian in a folder: nothing of the clone, and nothing of this machine but its kernel.

const SUITE = 'bookworm'
/** Left out of the small image of Debian as well, but not of packages that are installed later. */
const SLIM = [
  ...['doc', 'man', 'locale', 'info'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
  '--customize-hook=rm "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"',
]
const CACHE = join(ROOT, 'node_modules/.cache')

/**
 * Its files as a tarball, with these packages besides its smallest set; downloaded once. For another architecture packages are only
 * unpacked, because their scripts do not run here.
 */
export function debianTarball(
  architecture: Architecture = ownArchitecture,
  packages: readonly string[] = [],
): string {
  const file = join(CACHE, `${[SUITE, architecture, 'slim', ...packages].join('-')}.tar`)
  if (existsSync(file)) return file
  mkdirSync(CACHE, { recursive: true })
  const next = `${file}.${process.pid}.tar`
  const isOwn = architecture === ownArchitecture
  const variant = isOwn ? ['--variant=minbase'] : ['--variant=extract', '--include=?essential']
  const include = ['libstdc++6', ...packages].map((name) => `--include=${name}`)
  const options = [`--architectures=${architecture}`, ...SLIM, ...variant, ...include]
  const args = ['--quiet', ...options, SUITE, next]
  execFileSync(program('mmdebstrap'), args, { stdio: ['ignore', 'ignore', 'pipe'] })
  renameSync(next, file)
  return file
}

export interface Chroot {
  path: string
  /** The command line that runs a command as root. */
  under: readonly string[]
  /** Runs a command as root; also on another machine, `under` which it runs. */
  run(
    command: readonly string[],
    machine?: readonly string[],
  ): { status: number | null; stdout: string; stderr: string }
  remove(): void
}

export function openChroot(): Chroot {
  const folder = tempFolder(DISK)
  const tarball = debianTarball(ownArchitecture, ['libatomic1', 'ca-certificates'])
  execFileSync('tar', ['-xf', tarball, '-C', folder.path, '--exclude=./dev/*'])
  const mounts = ['proc', 'dev'].map((name) => join(folder.path, name))
  for (const mount of mounts)
    execFileSync('mount', ['--bind', mount.slice(folder.path.length), mount])
  const under = ['chroot', folder.path]
  return {
    path: folder.path,
    under,
    run(command, machine = []) {
      const [file = '', ...args] = [...machine, ...under, ...command]
      const { status, stdout, stderr } = spawnSync(file, args, {
        encoding: 'utf8',
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' },
      })
      return { status, stdout, stderr }
    },
    remove() {
      for (const mount of mounts) execFileSync('umount', [mount])
      folder.remove()
    },
  }
}
