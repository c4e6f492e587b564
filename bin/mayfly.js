#!/usr/bin/env node
// Plain JavaScript, because it must start on a Node that is too old for the rest and say so.
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const NEEDED = 26

if (Number.parseInt(process.versions.node, 10) >= NEEDED) {
  await import('../src/main.ts')
} else {
  startWithOurNode()
}

/** `npm ci` installs the Node that we need beside the other packages. */
function startWithOurNode() {
  const ours = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url))
  if (!existsSync(ours) || realpathSync(ours) === realpathSync(process.execPath)) {
    console.error(
      `mayfly needs Node ${NEEDED} or newer, and this is ${process.versions.node}.\n` +
        'Run it through npm, which brings the right one: npm ci && npm start\n' +
        'Other commands: npm run --silent mayfly -- <command>',
    )
    process.exitCode = 1
    return
  }
  const child = spawn(ours, process.argv.slice(1), { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // A terminal sends Ctrl-C to both of us; the child decides what it means.
  process.on('SIGINT', () => {})
  child.on('error', (error) => {
    console.error(`${ours} does not start: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === 'SIGKILL' ? 9 : 15)
  })
}
