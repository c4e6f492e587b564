import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pack } from './npm-package.ts'
import { ROOT } from './sources.ts'

// The packages of the clients, with the version of the service.

const JAVASCRIPT = `${ROOT}clients/js/`
const PYTHON = `${ROOT}clients/python/`
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }

/** Adds the npm package, and the wheel and source distribution for Python. */
export function packClients(target: string): void {
  mkdirSync(target, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-clients-'))
  try {
    stageClient(join(folder, 'js'))
    pack(join(folder, 'js'), target)
    buildPythonClient(join(folder, 'python'), target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function buildPythonClient(folder: string, target: string): void {
  mkdirSync(folder)
  for (const name of ['README.md', 'build_backend.py', 'mayfly_mail', 'pyproject.toml']) {
    const filter = (path: string) => !path.endsWith('__pycache__')
    cpSync(`${PYTHON}${name}`, join(folder, name), { recursive: true, filter })
  }
  cpSync(`${ROOT}LICENSE`, join(folder, 'LICENSE'))
  const backend = readFileSync(join(folder, 'build_backend.py'), 'utf8')
  writeFileSync(join(folder, 'build_backend.py'), backend.replace('"0.0.0"', `"${version}"`))
  const build =
    'import sys, build_backend as b; b.build_sdist(sys.argv[1]); b.build_wheel(sys.argv[1])'
  execFileSync('python3', ['-c', build, resolve(target)], { cwd: folder })
}

/** Writes the folder that `npm pack` and `npm publish` take. */
export function stageClient(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const tsc = `${ROOT}node_modules/.bin/tsc`
  execFileSync(tsc, ['--project', JAVASCRIPT, '--outDir', join(folder, 'dist')], {
    stdio: 'inherit',
  })
  cpSync(`${JAVASCRIPT}README.md`, join(folder, 'README.md'))
  cpSync(`${ROOT}LICENSE`, join(folder, 'LICENSE'))
  const {
    private: _,
    '//': __,
    ...manifest
  } = JSON.parse(readFileSync(`${JAVASCRIPT}package.json`, 'utf8'))
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...manifest, version }, undefined, 2)}\n`,
  )
}

if (import.meta.main) packClients(process.argv[2] ?? '.')
