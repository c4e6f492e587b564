import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import './all.ts'
import { packClients } from './client-packages.ts'
import { buildDebianPackage } from './debian-package.ts'
import { bundledPackages } from './licences.ts'
import { pack, stagePackage } from './npm-package.ts'
import { ARCHITECTURES, type Architecture } from './runtime.ts'
import { DIST, ROOT } from './sources.ts'

// npm run release: all artefacts of this version in release/. `-- --no-images` leaves out the container images, which need
// buildah and a registry for their base.

const RELEASE = `${ROOT}release/`
const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }

function buildRelease(withImages: boolean): void {
  rmSync(RELEASE, { recursive: true, force: true })
  mkdirSync(RELEASE)
  const staged = `${ROOT}node_modules/.cache/npm-package`
  stagePackage(staged)
  pack(staged, RELEASE)
  packClients(RELEASE)
  for (const architecture of Object.keys(ARCHITECTURES) as Architecture[]) {
    buildDebianPackage(RELEASE, architecture, version)
    if (withImages) buildImage(architecture)
  }
  writeFileSync(
    join(RELEASE, `mayfly-${version}.cdx.json`),
    `${JSON.stringify(bom(), undefined, 2)}\n`,
  )
  const names = readdirSync(RELEASE).sort()
  writeFileSync(
    join(RELEASE, 'SHA256SUMS'),
    names.map((name) => `${sha256(name)}  ${name}\n`).join(''),
  )
}

function buildImage(architecture: Architecture): void {
  const name = `mayfly:${version}-${architecture}`
  const options = ['--arch', architecture, '--build-arg', `VERSION=${version}`, '--tag', name]
  const file = ['--file', `${ROOT}deploy/Dockerfile`]
  execFileSync('buildah', ['build', ...options, ...file, ROOT], { stdio: 'inherit' })
  const archive = join(RELEASE, `mayfly-${version}-${architecture}.oci.tar`)
  execFileSync('buildah', ['push', name, `oci-archive:${archive}:${name}`], { stdio: 'inherit' })
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

/** The software bill of materials of what is shipped: npm's, without the tools that only build and test. */
function bom(): object {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
  const all: Bom = JSON.parse(
    execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 100_000_000 }),
  )
  // The page is built from packages that are not installed with the service.
  const inPage = bundledPackages(`${DIST}page/LICENSES.txt`)
  const components = all.components.filter(
    ({ name, version: at, properties = [] }) =>
      inPage.has(`${name} ${at}`) || !properties.some((one) => one.name.endsWith(':development')),
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

function sha256(name: string): string {
  return createHash('sha256')
    .update(readFileSync(join(RELEASE, name)))
    .digest('hex')
}

buildRelease(!process.argv.includes('--no-images'))
