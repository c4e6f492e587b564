import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import './all.ts'
import { changelog, releaseNotes } from './changelog.ts'
import { packClients } from './client-packages.ts'
import { buildDebianPackage } from './debian-package.ts'
import { packExtension } from './extension.ts'
import { bundledPackages } from './licences.ts'
import { requireLongRun } from './long-run.ts'
import { pack, stagePackage } from './npm-package.ts'
import { ARCHITECTURES, type Architecture, ownArchitecture } from './runtime.ts'
import { builtFrom, DIST, ROOT, replaceFolder } from './sources.ts'

// npm run release: all artefacts of this version in release/, or in the folder that is named. `-- --no-images` leaves out the
// container images, which need buildah and a registry for their base. `-- --untested` builds a commit whose long tests have not
// passed here, `-- --trial` also one whose changelog has unreleased changes.

const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }
const SUMS = 'SHA256SUMS'
/** The image is called the same in the documentation and the Compose files. */
const IMAGE = 'mayfly:latest'
const BUILD_PLATFORM = `BUILDPLATFORM=linux/${ownArchitecture}`

interface ReleaseOptions {
  withImages: boolean
  isTrial: boolean
}

async function buildRelease(
  target: string,
  { withImages, isTrial }: ReleaseOptions,
): Promise<void> {
  if (existsSync(target) && !isRelease(target)) {
    throw new Error(`${target} would be replaced, but is not a release`)
  }
  const notes = releaseNotes(changelog(), version, { isTrial })
  await replaceFolder(target, async (folder) => {
    mkdirSync(folder)
    const staged = `${ROOT}node_modules/.cache/npm-package`
    stagePackage(staged)
    pack(staged, folder)
    packClients(folder)
    await packExtension(folder)
    for (const architecture of ARCHITECTURES) {
      buildDebianPackage(folder, architecture, version)
      if (withImages) buildImage(folder, architecture)
    }
    writeFileSync(join(folder, 'NOTES.md'), notes)
    const bill = `${JSON.stringify(bom(), undefined, 2)}\n`
    writeFileSync(join(folder, `mayfly-${version}.cdx.json`), bill)
    const names = readdirSync(folder).sort()
    const sums = names.map((name) => `${sha256(join(folder, name))}  ${name}\n`)
    writeFileSync(join(folder, SUMS), sums.join(''))
  })
}

/** Whether the folder contains nothing but what its sums list. */
function isRelease(folder: string): boolean {
  const names = readdirSync(folder).filter((name) => name !== SUMS)
  const sums = names.length > 0 ? (builtFrom(join(folder, SUMS)) ?? '') : ''
  const listed = new Set([...sums.matchAll(/^[0-9a-f]{64} {2}(.+)$/gm)].map(([, name]) => name))
  return names.every((name) => listed.has(name))
}

/** Writes an archive for `docker load`. */
function buildImage(folder: string, architecture: Architecture): void {
  const buildah = (...args: string[]) => execFileSync('buildah', args, { stdio: 'inherit' })
  const archive = join(folder, `mayfly-image-${version}-${architecture}.tar`)
  const id = `${archive}.id`
  // The format of OCI has no health check. buildah does not set BUILDPLATFORM itself.
  const platforms = ['--platform', `linux/${architecture}`, '--build-arg', BUILD_PLATFORM]
  const options = ['--format', 'docker', ...platforms, '--build-arg', `VERSION=${version}`]
  buildah('build', ...options, '--file', `${ROOT}deploy/Dockerfile`, '--iidfile', id, ROOT)
  const image = readFileSync(id, 'utf8')
  rmSync(id)
  buildah('push', image, `docker-archive:${archive}:${IMAGE}`)
  buildah('rmi', image)
  execFileSync('gzip', ['--no-name', archive])
}

interface Component {
  'bom-ref': string
  name: string
  version: string
  properties?: { name: string; value: string }[]
}

interface Bom {
  metadata: { component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/** Installed in a clone only; the packages contain the Node.js for Linux, or none. */
const NOT_SHIPPED = /^node-bin-darwin/

/** The software bill of materials of what is shipped: npm's, without the tools that only build and test. */
function bom(): object {
  // The client has no version here, and is part of what is described.
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--workspaces=false']
  const all: Bom = JSON.parse(
    execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 100_000_000 }),
  )
  // The page is built from packages that are not installed with the service.
  const inPage = bundledPackages(`${DIST}page/LICENSES.txt`)
  const components = all.components.filter(
    ({ name, version: at, properties = [] }) =>
      inPage.has(`${name} ${at}`) ||
      !(NOT_SHIPPED.test(name) || properties.some((one) => one.name.endsWith(':development'))),
  )
  const { component } = all.metadata
  const refs = new Set([component, ...components].map((one) => one['bom-ref']))
  return {
    ...all,
    // npm names it after its folder.
    metadata: { ...all.metadata, component: { ...component, name: 'mayfly' } },
    components,
    dependencies: all.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
  }
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

const options = process.argv.slice(2)
if (!options.includes('--trial') && !options.includes('--untested')) requireLongRun(ROOT)
const [target = `${ROOT}release`] = options.filter((one) => !one.startsWith('--'))
await buildRelease(resolve(target), {
  withImages: !options.includes('--no-images'),
  isTrial: options.includes('--trial'),
})
