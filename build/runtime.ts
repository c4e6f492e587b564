import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manifest, pack } from './npm-package.ts'
import { ROOT } from './sources.ts'

/** As Debian and container images name them, with the name in Node.js. */
const NODE_NAMES = { amd64: 'x64', arm64: 'arm64' } as const
export type Architecture = keyof typeof NODE_NAMES
export const ARCHITECTURES = ['amd64', 'arm64'] as const satisfies Architecture[]

export const ownArchitecture: Architecture = process.arch === 'x64' ? 'amd64' : 'arm64'

/** Writes what runs the build on Linux, in the layout of a clone: Node.js, dist/ and the native package. */
export function stageRuntime(folder: string, architecture: Architecture): void {
  const arch = NODE_NAMES[architecture]
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of ['bin', 'dist', 'LICENSE']) {
    cpSync(`${ROOT}${name}`, join(folder, name), { recursive: true })
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`)
  copyNode(`node-linux-${arch}`, join(folder, 'node_modules/.bin'))
  const sqlite = 'node_modules/better-sqlite3'
  for (const name of ['package.json', 'LICENSE', 'lib', `prebuilds/linux-${arch}.node`]) {
    cpSync(join(ROOT, sqlite, name), join(folder, sqlite, name), { recursive: true })
  }
  makeReadable(folder)
}

/** Whatever the modes in the clone and the umask: the service runs as another user. */
export function makeReadable(folder: string): void {
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', folder])
}

/** The Node.js of the lock file; npm has installed only the one for this machine. */
function copyNode(name: string, target: string): void {
  const installed = `${ROOT}node_modules/${name}`
  if (existsSync(installed)) {
    copyProgram(installed, target)
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-node-'))
  try {
    const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8'))
    const { version, integrity } = packages[`node_modules/${name}`]
    const packed = pack(`${name}@${version}`, folder)
    if (packed.integrity !== integrity) throw new Error(`${name} is not the one of the lock file`)
    execFileSync('tar', ['-xf', packed.path, '-C', folder])
    copyProgram(join(folder, 'package'), target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function copyProgram(folder: string, target: string): void {
  cpSync(join(folder, 'bin/node'), join(target, 'node'))
  cpSync(join(folder, 'LICENSE'), join(target, 'LICENSE.node'))
}

// deploy/Dockerfile runs it: node build/runtime.ts FOLDER ARCHITECTURE
if (import.meta.main) {
  const [folder = '', architecture = ownArchitecture] = process.argv.slice(2)
  if (!(architecture in NODE_NAMES)) throw new Error(`no Node.js for ${architecture}`)
  stageRuntime(folder, architecture as Architecture)
}
