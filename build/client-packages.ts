import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './sources.ts'

const FOLDER = `${ROOT}clients/js/`

/** Writes the folder that `npm pack` and `npm publish` take for the JavaScript client, with the version of the service. */
export function stageClient(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const tsc = `${ROOT}node_modules/.bin/tsc`
  execFileSync(tsc, ['--project', FOLDER, '--outDir', join(folder, 'dist')], { stdio: 'inherit' })
  cpSync(`${FOLDER}README.md`, join(folder, 'README.md'))
  cpSync(`${ROOT}LICENSE`, join(folder, 'LICENSE'))
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  const { private: _, ...manifest } = JSON.parse(readFileSync(`${FOLDER}package.json`, 'utf8'))
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...manifest, version }, undefined, 2)}\n`,
  )
}
