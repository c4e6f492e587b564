import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../src/runtime/config.ts'
import { MAIL, startApp } from './kit/app/app.ts'
import { freeServicePorts, spawnService } from './kit/app/service-process.ts'
import { createSession } from './kit/http/api-client.ts'
import { program } from './kit/programs/programs.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// The files in deploy/ are consistent with the program and with each other. HAProxy itself runs in balancer.test.ts.

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const folder = tempFolder()
afterAll(folder.remove)

// Used by tests only.
const NOT_OURS = new Set([
  'MAYFLY_API_KEY',
  'MAYFLY_CORPORA',
  'MAYFLY_TEST_LONG',
  'MAYFLY_TEST_WITHOUT',
  'MAYFLY_URL',
])

test('every setting named in deploy/ and the documentation exists', () => {
  const paths = globSync(['deploy/**', 'docs/**/*.md', '*.md'], { cwd: ROOT })
  const files = paths.filter((path) => statSync(join(ROOT, path)).isFile())
  const named = new Set(files.flatMap((file) => read(file).match(/MAYFLY_[A-Z_]*[A-Z]/g) ?? []))
  const ours = [...named].filter((name) => !NOT_OURS.has(name))
  expect(ours).toContain('MAYFLY_STORE_FILE')
  // An unknown name in the file is an error, and all errors are reported at once.
  readConfig({ env: {}, file: Object.fromEntries(ours.map((name) => [name, ''])) })
})

test('no setting has a comment behind it, which systemd and Compose would take for a part of its value', () => {
  const paths = globSync(['deploy/**', 'docs/**/*.md', '*.md'], { cwd: ROOT })
  const files = paths.filter((path) => statSync(join(ROOT, path)).isFile())
  const lines = files.flatMap((file) => read(file).match(/^#? *MAYFLY_\w+=.*$/gm) ?? [])
  expect(lines.length).toBeGreaterThan(15)
  expect(lines.filter((line) => /\s#/.test(line))).toEqual([])
})

test('HAProxy starts without the nodes whose names do not resolve', () => {
  const file = join(ROOT, 'deploy/haproxy.cfg')
  // One short query for each name, if there is no name server.
  const env = { ...process.env, RES_OPTIONS: 'attempts:1 timeout:1' }
  const { status, stderr } = spawnSync(program('haproxy'), ['-c', '-f', file], {
    env,
    encoding: 'utf8',
  })
  expect(status, stderr).toBe(0)
})

test('every proxy with TLS tells browsers to use HTTPS only', () => {
  const documented = globSync('docs/*.md', { cwd: ROOT })
    .flatMap((path) => read(path).split(/^ *```.*$/m))
    .filter((block) => /^\s*(?:reverse_proxy|proxy_pass) /m.test(block))
  expect(documented).toHaveLength(3)
  const examples = [read('deploy/Caddyfile'), read('deploy/haproxy.cfg'), ...documented]
  for (const example of examples) {
    expect(example).toMatch(/^[^#\n]*\bStrict-Transport-Security "?max-age=31536000\b/m)
  }
})

test('the base images of the Dockerfile are pinned to a version', () => {
  const bases = [...read('deploy/Dockerfile').matchAll(/^FROM (?:--\S+ )?(\S+)/gm)].map(
    ([, name = '']) => name,
  )
  expect(bases.length).toBe(2)
  for (const name of bases) expect(name).toMatch(/:\d+\.\d+(\.\d+)?-/)
})

test('the files that the image copies exist and are in the build context', () => {
  const included = read('.dockerignore').match(/(?<=^!).*$/gm) ?? []
  const copies = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)]
  const copied = copies.flatMap(([, sources = '']) => sources.split(' '))
  expect(copied.toSorted()).toStrictEqual(included.toSorted())
  for (const path of copied)
    expect(existsSync(join(ROOT, path)), `${path} is not there`).toBeTruthy()
})

test('the health check of the image reports whether the service is up', async () => {
  const [, command = ''] =
    /^HEALTHCHECK [\s\S]*?CMD (\[.*\])$/m.exec(read('deploy/Dockerfile')) ?? []
  const [, ...args] = JSON.parse(command) as string[]
  const app = await startApp()
  const env = { MAYFLY_HTTP_PORT: String(app.httpPort) }
  const check = () => once(spawn(process.execPath, args, { env }), 'exit')
  expect(await check()).toStrictEqual([0, null])
  await app.stop()
  expect(await check()).toStrictEqual([1, null])
})

test('systemd accepts the units, that of the service alone and with the additions for several nodes', () => {
  cpSync(join(ROOT, 'deploy/mayfly.service.d'), join(folder.path, 'mayfly.service.d'), {
    recursive: true,
  })
  const units = ['mayfly.service', 'mayfly-backup.service', 'mayfly-backup.timer'].map((name) => {
    // The program has another path here.
    writeFileSync(join(folder.path, name), read(`deploy/${name}`).replaceAll('/opt/mayfly/', ROOT))
    return join(folder.path, name)
  })
  const verify = spawnSync(program('systemd-analyze'), ['verify', '--man=no', ...units], {
    encoding: 'utf8',
  })
  expect([verify.status, verify.stderr]).toStrictEqual([0, ''])
})

test.each([
  ['mayfly.service', 20],
  ['mayfly-backup.service', 10],
])('the exposure of %s is at most %i of 100 according to systemd-analyze', (name, most) => {
  const check = ['security', '--offline=yes', `--threshold=${most}`, '--no-pager']
  // Alone: beside it, the additions for several nodes would count.
  const unit = join(folder.path, 'alone', name)
  cpSync(join(ROOT, 'deploy', name), unit)
  const { status, stdout } = spawnSync(program('systemd-analyze'), [...check, unit], {
    encoding: 'utf8',
  })
  expect(status, stdout).toBe(0)
})

test('the service needs no system call that the unit forbids', async () => {
  const trace = join(folder.path, 'forbidden')
  const allowed = [...allowedCalls()].map((call) => `?${call}`).join(',')
  const served = await spawnService({
    folder: join(folder.path, 'calls'),
    ports: await freeServicePorts(),
    under: `strace -D -f -qq -e signal=none -o ${trace} -e trace=!${allowed}`.split(' '),
  })
  // One mail from SMTP to HTTP, so that a parser child runs too.
  const { email, token } = await createSession(served.url)
  const client = await connectSmtp(served.smtpPort)
  expect((await client.send({ to: [email], raw: MAIL })).code).toBe(250)
  client.close()
  const listed = await fetch(`${served.url}/api/check-mail?token=${token}`)
  const [{ id = 0 } = {}] = ((await listed.json()) as { messages: { id: number }[] }).messages
  // While it is traced, the parser may start too late for the first request.
  let mail = ''
  await waitUntil(async () => {
    mail = await (await fetch(`${served.url}/api/read-mail?token=${token}&id=${id}`)).text()
    return !mail.includes('"overloaded"')
  }, 60_000)
  expect(mail).toMatch(/Your code is 123456/)
  await served.kill('SIGTERM')
  // Only root changes owners and starts its children as another user; the user of the unit does neither.
  const ofRoot = /^.* (fchown|setgroups|setgid|setuid)\(.*\n/gm
  const forbidden = readFileSync(trace, 'utf8').replaceAll(ofRoot, '')
  expect(forbidden).toBe('')
})

/** The combined effect of the two SystemCallFilter= lines of the unit. */
function allowedCalls(): Set<string> {
  const [, yes = '', no = ''] =
    /^SystemCallFilter=(@[\w-]+)\nSystemCallFilter=~(@[\w-]+)$/m.exec(
      read('deploy/mayfly.service'),
    ) ?? []
  return callsOf(yes).difference(callsOf(no))
}

function callsOf(group: string): Set<string> {
  const listed = execFileSync(program('systemd-analyze'), ['syscall-filter', group], {
    encoding: 'utf8',
  })
  const names = listed.match(/(?<=^ {4})@?[\w-]+$/gm) ?? []
  return new Set(names.flatMap((name) => (name.startsWith('@') ? [...callsOf(name)] : [name])))
}
