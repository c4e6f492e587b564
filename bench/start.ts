import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pack, stagePackage } from '../build/npm-package.ts'
import { ownArchitecture, stageRuntime } from '../build/runtime.ts'
import { buildServer } from '../build/server.ts'
import {
  freeServicePorts,
  ROOT,
  type ServiceProcess,
  SOURCE,
  spawnService,
} from '../test/kit/app/service-process.ts'
import { checkMail, createSession } from '../test/kit/http/api-client.ts'
import { connectSmtp } from '../test/kit/smtp/smtp-client.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder, memoryByProcess } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// How long does it take to start, how much memory does it use when idle, and how much disk, for each way to install it?

const ROUNDS = quick ? 2 : 20
const IDLE_SECONDS = quick ? 1 : 4
const MEMORY_ROUNDS = quick ? 1 : 3
/** The output of `npm run release`. */
const RELEASE = options.release ?? `${ROOT}release`

interface Installation {
  name: string
  root: string
  main: string
}

const folder = benchFolder()
// A copy of its own: PSS would count only a share of the pages that the service has in common with this process.
const node = join(folder.path, 'node')
cpSync(process.execPath, node)

function install(): Installation[] {
  stagePackage(folder.inside('staged'))
  const installed = folder.inside('npm')
  writeFileSync(join(installed, 'package.json'), '{}')
  const { path: tarball } = pack(join(folder.path, 'staged'), folder.path)
  execFileSync('npm', ['install', '--prefer-offline', '--loglevel=error', tarball], {
    cwd: installed,
  })
  const runtime = folder.inside('runtime')
  stageRuntime(runtime, ownArchitecture)
  reportTable(
    ['', 'download MB', 'on disk MB'],
    [
      ['clone: node_modules', '', figure(diskMb(`${ROOT}node_modules`))],
      ['dist/', '', figure(diskMb(`${ROOT}dist`))],
      ['npm package with its dependency', figure(fileMb(tarball)), figure(diskMb(installed))],
      ...artefactRows(),
    ],
  )
  return [
    { name: 'clone, from src/', root: ROOT, main: 'src/main.ts' },
    { name: 'clone, from dist/', root: ROOT, main: SOURCE },
    { name: 'npm package', root: installed, main: 'node_modules/.bin/mayfly' },
    { name: 'Debian package, image', root: runtime, main: SOURCE },
  ]
}

/** The packages and images of `npm run release`, for all architectures. */
function artefactRows(): string[][] {
  const names = existsSync(RELEASE) ? readdirSync(RELEASE).sort() : []
  const artefacts = names.filter((name) => /\.(deb|gz|tgz|json|whl)$/.test(name))
  if (artefacts.length === 0)
    progress(`${RELEASE} is missing: run npm run release [-- --trial] first`)
  return artefacts.map((name) => {
    const path = join(RELEASE, name)
    return [name, figure(fileMb(path)), unpackedSize(path)]
  })
}

function unpackedSize(path: string): string {
  if (path.endsWith('.deb')) return figure(installedMb(path))
  return /gz$/.test(path) ? figure(unpackedMb(path)) : ''
}

const installedMb = (deb: string) =>
  Number(printed('dpkg-deb', '--field', deb, 'Installed-Size')) / 1024
const unpackedMb = (path: string) =>
  Number(/^ *\d+ +(\d+)/m.exec(printed('gzip', '--list', path))?.[1]) / 2 ** 20

const printed = (program: string, ...args: string[]) =>
  execFileSync(program, args, { encoding: 'utf8' })

const diskMb = (path: string) =>
  Number(printed('du', '-sk', '--exclude=.cache', path).split('\t')[0]) / 1024
const fileMb = (path: string) => statSync(path).size / 2 ** 20

async function startedMs({ root, main }: Installation): Promise<number> {
  const empty = folder.inside('empty')
  const begun = performance.now()
  const service = await startIdle(root, main, empty)
  const ms = performance.now() - begun
  await service.kill('SIGKILL')
  rmSync(empty, { recursive: true })
  return ms
}

const MAIL = 'From: ann@sender.test\r\nSubject: Hello\r\n\r\nYour code is 123456.\r\n'

/** From the 250 to its preview in check-mail, which is there once the mail is parsed. */
async function previewMs({ url, smtpPort }: ServiceProcess): Promise<number> {
  const { email, token } = await createSession(url)
  const client = await connectSmtp(smtpPort)
  await client.send({ to: [email], raw: MAIL })
  const accepted = performance.now()
  while (!(await checkMail(url, token)).some(({ preview }) => preview !== null)) await pause(1)
  const ms = performance.now() - accepted
  client.close()
  return ms
}

/** Times of the first mail after a start, for which a parser process is started, and of the second. */
async function firstMails({ root, main }: Installation): Promise<[number, number]> {
  const service = await startIdle(root, main, folder.inside('empty'))
  const ms: [number, number] = [await previewMs(service), await previewMs(service)]
  await service.kill('SIGTERM')
  rmSync(folder.inside('empty'), { recursive: true })
  return ms
}

async function idleMb({ root, main }: Installation): Promise<number> {
  const service = await startIdle(root, main, folder.inside('empty'))
  await pause(IDLE_SECONDS * 1000)
  const mb = memoryByProcess(service.pid)
    .values()
    .reduce((sum, one) => sum + one, 0)
  await service.kill('SIGTERM')
  return mb
}

/** With the default number of threads. */
async function startIdle(root: string, main: string, data: string) {
  const env = { MAYFLY_HTTP_THREADS: 'auto', MAYFLY_SMTP_THREADS: 'auto', MAYFLY_AUTH_CHECKS: 'on' }
  return await spawnService({
    folder: data,
    ports: await freeServicePorts(),
    env,
    root,
    command: [node, main, 'serve'],
  })
}

async function main(): Promise<void> {
  reportHeader('Start, memory and size', 'start')
  say(
    `- Start: from the start of the process to the first 200 of /livez, on an empty data directory; ${ROUNDS} rounds`,
    `- Memory: PSS of all processes, ${IDLE_SECONDS} s after the start, without traffic; ${MEMORY_ROUNDS} rounds`,
  )
  await buildServer()
  const installations = install()
  const [, built] = installations
  if (!built) throw new Error('unreachable: there are four')
  const times = await alternate(installations, ROUNDS, startedMs)
  const memory = await alternate(installations, MEMORY_ROUNDS, idleMb, false)
  reportTable(
    ['', 'start, ms', 'idle, MB PSS'],
    installations.map(({ name }) => [
      name,
      spread(times.get(name) ?? []),
      spread(memory.get(name) ?? []),
    ]),
  )
  for (const { name } of installations.slice(1)) {
    const ms = median(times.get(name) ?? [])
    reportGoal(`ready in less than 1,000 ms: ${name}`, ms, ms < 1_000)
  }
  const mails = (await alternate([built], ROUNDS, firstMails, false)).get(built.name) ?? []
  const [first, second] = [mails.map(([ms]) => ms), mails.map(([, ms]) => ms)]
  reportTable(
    ['from the 250 to the preview', 'ms'],
    [
      ['first mail after a start', spread(first)],
      ['second mail', spread(second)],
    ],
  )
  reportGoal('preview of the first mail within 300 ms', median(first), median(first) <= 300)
  const mb = median(memory.get(built.name) ?? [])
  reportGoal('at most 200 MB PSS when idle', mb, mb <= 200)
}

await main()
