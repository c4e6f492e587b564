#!/usr/bin/env node
// Plain JavaScript, because it must start on a Node that is too old for the rest and say so.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const runsBuild = isBuildFresh()
// TypeScript needs the Node of the clone; its bundle is for every supported one.
const NEEDED = runsBuild ? 24 : 26
const LAUNCHED = 'launched'
const RESTARTED = 'MAYFLY_RESTARTED'
// Young objects of the main thread and freed memory take a sixth less memory, and a third less with large mail: decisions 42 and 51.
// A value in NODE_OPTIONS takes precedence.
const FLAGS = process.env.NODE_OPTIONS?.includes('--max-semi-space-size')
  ? []
  : ['--max-semi-space-size=4']
const ENV = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '262144', ...process.env }

if (Number.parseInt(process.versions.node, 10) >= NEEDED) {
  if (process.argv[2] === 'serve') setMemoryFlags()
  stopWithLauncher()
  await import(runsBuild ? '../dist/main.js' : '../src/main.ts')
} else {
  startWithOurNode()
}

/**
 * Whether dist/ is there and, in a clone, newer than what is bundled in it. New versions of packages are left to `npm start`:
 * npm also rewrites package-lock.json without a change.
 */
function isBuildFresh() {
  const built = modified('dist/sources')
  /** @param {string} folder */
  const isOlder = (folder) => newestSource(folder, built) <= built
  return existsSync(join(root, 'dist/main.js')) && isOlder('src') && isOlder('clients/js/src')
}

/** @param {string} path */
function modified(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/**
 * The time of the last change under a folder; stops at the first that is after `limit`. Folders change when files are removed.
 * @param {string} folder
 * @param {number} limit
 * @returns {number}
 */
function newestSource(folder, limit) {
  let newest = modified(folder)
  if (newest === 0) return newest
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    if (newest > limit) return newest
    if (/\.test\.ts$|^(testing|contract|fixtures)$/.test(entry.name)) continue
    const path = join(folder, entry.name)
    newest = Math.max(newest, entry.isDirectory() ? newestSource(path, limit) : modified(path))
  }
  return newest
}

/** `npm ci` installs the Node that a clone needs beside the other packages. */
function startWithOurNode() {
  const ours = join(root, 'node_modules/.bin/node')
  if (!existsSync(ours) || realpathSync(ours) === realpathSync(process.execPath)) {
    console.error(`mayfly needs Node.js ${NEEDED} or newer, and this is ${process.versions.node}.`)
    if (existsSync(join(root, 'src'))) {
      console.error(
        'Run it through npm, which brings the right one: npm ci && npm start\n' +
          'Other commands: npm run --silent mayfly -- <command>',
      )
    }
    process.exitCode = 1
    return
  }
  const child = spawn(ours, [...FLAGS, ...process.argv.slice(1)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: ENV,
  })
  child.on('spawn', () => child.send(LAUNCHED))
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

/** For a launcher that is killed. Other parents may close their channel and leave us running. */
function stopWithLauncher() {
  process.once('message', (message) => {
    if (message !== LAUNCHED) return
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
    process.channel?.unref()
  })
  process.channel?.unref()
}

/** They take effect only when a program starts, so this process executes itself again. A channel would be lost. */
function setMemoryFlags() {
  // Not whether they are set: the loader removes MALLOC_* from the environment of a Node with capabilities.
  const isRestarted = process.env[RESTARTED] !== undefined
  delete process.env[RESTARTED]
  if (isRestarted || process.channel || process.platform === 'win32' || !process.execve) return
  const [, ...args] = process.argv
  process.execve(
    process.execPath,
    [process.execPath, ...FLAGS, ...process.execArgv, ...args],
    /** @type {Record<string, string>} */ ({ ...ENV, [RESTARTED]: 'yes' }),
  )
}
