import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, test } from 'vitest'
import { ownArchitecture } from '../build/runtime.ts'
import { checkMail, createSession } from './support/api-client.ts'
import { MAIL } from './support/app.ts'
import { chrootProblem } from './support/chroot.ts'
import { openImages } from './support/image.ts'
import { freeServicePorts } from './support/service-process.ts'
import { connectSmtp } from './support/smtp-client.ts'
import { DISK, tempFolder } from './support/stores.ts'
import { waitUntil } from './support/wait-until.ts'

// deploy/Dockerfile, built and run.

const folder = tempFolder(DISK)
const images = openImages(folder.path)
const withRoot = test.skipIf(chrootProblem !== undefined)

beforeAll(() => {
  if (chrootProblem) return
  images.makeBases()
  images.build('mayfly', '--build-arg', 'VERSION=0.0.0-test')
}, 900_000)
afterAll(() => {
  for (const pid of containerProcesses()) process.kill(pid, 'SIGKILL')
  if (!chrootProblem) images.buildah('umount', '--all')
  folder.remove()
})

withRoot('a container receives a mail, serves the page and stops', async () => {
  const ports = await freeServicePorts()
  const child = images.start('mayfly', {
    MAYFLY_HOST: '127.0.0.1',
    MAYFLY_HTTP_PORT: String(ports.http),
    MAYFLY_SMTP_PORT: String(ports.smtp),
    MAYFLY_DOMAINS: 'box.test',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (part) => {
      output += part
    })
  }
  const url = `http://127.0.0.1:${ports.http}`
  await waitUntil(() => {
    assert.equal(child.exitCode, null, output)
    return fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }, 120_000)
  const { email, token } = await createSession(url)
  const client = await connectSmtp(ports.smtp)
  assert.equal((await client.send({ to: [email], raw: MAIL })).code, 250)
  client.close()
  const [{ id = 0 } = {}] = await checkMail(url, token)
  const mail = await fetch(`${url}/api/read-mail?token=${token}&id=${id}`)
  assert.match(await mail.text(), /Your code is 123456/)
  assert.match(await (await fetch(url)).text(), /<script type="module" src="\/assets\//)

  const [node = 0] = containerProcesses()
  assert.match(readFileSync(`/proc/${node}/status`, 'utf8'), /^Uid:\t10025\t/m)
  const exited = once(child, 'exit')
  process.kill(node, 'SIGTERM')
  assert.deepEqual(await exited, [0, null], output)
  assert.match(output, /"msg":"stopped"/)
})

/** buildah does not pass signals on. */
function containerProcesses(): number[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/cmdline`))
    .filter((pid) => {
      const [program, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const isNode = program === '/app/node_modules/.bin/node'
      return isNode && args.join(' ') === '/app/bin/mayfly.js serve '
    })
    .map(Number)
}

withRoot('the image says what it is and how to run it, and contains nothing of the build', () => {
  const { architecture, config } = images.configOf('mayfly')
  assert.equal(architecture, ownArchitecture)
  assert.equal(config.User, '10025:10025')
  assert.equal(config.StopSignal, 'SIGTERM')
  assert.equal(config.Labels['org.opencontainers.image.version'], '0.0.0-test')
  const root = images.buildah('mount', images.buildah('from', '--pull-never', 'mayfly'))
  const packages = readdirSync(join(root, 'app/node_modules')).filter((name) => name !== '.bin')
  assert.deepEqual(packages, ['better-sqlite3'])
  for (const path of ['app/src', 'app/web', 'usr/local/bin/npm']) {
    assert.ok(!existsSync(join(root, path)), path)
  }
})
