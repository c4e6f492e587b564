import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '../src/runtime/config.ts'
import { ROOT } from './kit/app/service-process.ts'
import { tempFolder } from './kit/store/stores.ts'

// deploy/kubernetes, as far as it can be checked without a cluster.

const folder = tempFolder()
symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
afterAll(folder.remove)

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec?: unknown
  data?: Record<string, string>
}

const read = (path: string): Manifest[] =>
  parseAllDocuments(readFileSync(path, 'utf8')).map((one) => one.toJS() as Manifest)

/** Throws if a field has a wrong value or is missing. */
async function validate(manifest: Manifest): Promise<void> {
  const model = modelOf(manifest)
  const { [manifest.kind]: Model } = await import(model)
  new Model(manifest).validate()
}

const modelOf = ({ apiVersion, kind }: Manifest) => `kubernetes-models/${apiVersion}/${kind}`

/** What the compiler says about fields, also about those that do not exist. */
function typeFaults(manifests: readonly Manifest[]): string {
  const parts = manifests.map((one, at) => {
    const type = `import('${modelOf(one)}').I${one.kind}`
    return `export const part${at}: ${type} = ${JSON.stringify(one)}\n`
  })
  writeFileSync(join(folder.path, 'manifests.ts'), parts.join(''))
  const options = '--noEmit --strict --skipLibCheck --module nodenext --target esnext'.split(' ')
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  return spawnSync(tsc, [...options, 'manifests.ts'], { cwd: folder.path, encoding: 'utf8' }).stdout
}

const FILES = globSync('deploy/kubernetes/*.yaml', { cwd: ROOT }).sort()
const all = FILES.flatMap((file) => read(join(ROOT, file)))

test('the files are for one node and for many', () => {
  expect(FILES.map((file) => basename(file))).toStrictEqual(['many-nodes.yaml', 'one-node.yaml'])
})

test('each part is valid', async () => {
  for (const manifest of all) await validate(manifest)
  expect(typeFaults(all)).toBe('')
})

test('a wrong value and a field that does not exist are found', async () => {
  const [config, workload] = all
  expect.assert(config && workload)
  await expect(validate({ ...config, data: { A: 1 } as never })).rejects.toThrow()
  const misspelled = { ...workload, spec: { ...(workload.spec as object), replica: 3 } }
  expect(typeFaults([misspelled])).toMatch('"replica"')
})

interface Workload {
  replicas: number
  template: { metadata: { labels: Labels }; spec: PodSpec }
  selector: { matchLabels: Labels }
}
type Labels = Record<string, string>
interface PodSpec {
  enableServiceLinks: boolean
  terminationGracePeriodSeconds: number
  securityContext: { runAsUser: number }
  containers: Container[]
  volumes: { name: string; secret?: { secretName: string } }[]
}
interface Container {
  env: { name: string; value: string }[]
  ports: { name: string; containerPort: number }[]
  volumeMounts: { name: string; mountPath: string }[]
}
interface ServiceSpec {
  selector: Labels
  ports: { port: number; targetPort: string }[]
}

describe.each(FILES)('%s', (path) => {
  const manifests = read(join(ROOT, path))
  const specs = <Spec>(...kinds: string[]) =>
    manifests.filter(({ kind }) => kinds.includes(kind)).map(({ spec }) => spec as Spec)
  const [workload] = specs<Workload>('StatefulSet', 'Deployment')
  expect.assert(workload)
  const { template, selector, replicas } = workload
  const pod = template.spec
  const [container] = pod.containers
  expect.assert(container)
  const claims = (
    (workload as { volumeClaimTemplates?: Pick<Manifest, 'metadata'>[] }).volumeClaimTemplates ?? []
  ).map(({ metadata }) => metadata.name)

  test('selectors, ports and volumes name what is there', () => {
    expect(template.metadata.labels).toMatchObject(selector.matchLabels)
    const services = specs<ServiceSpec>('Service')
    expect(services.flatMap(({ ports }) => ports.map(({ port }) => port))).toStrictEqual([80, 25])
    const ports = container.ports.map(({ name }) => name)
    for (const service of services) {
      expect(service.selector).toStrictEqual(selector.matchLabels)
      for (const { targetPort } of service.ports) expect(ports).toContain(targetPort)
    }
    const volumes = [...pod.volumes.map(({ name }) => name), ...claims]
    const mounted = container.volumeMounts.map(({ name }) => name)
    expect(mounted.toSorted()).toStrictEqual(volumes.toSorted())
  })

  test('ports, user and folders are those of the image', () => {
    const image = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')
    const ports = container.ports.map(({ containerPort }) => containerPort)
    expect(image).toMatch(new RegExp(`^EXPOSE ${ports.join(' ')}$`, 'm'))
    expect(image).toMatch(new RegExp(`^USER ${pod.securityContext.runAsUser}:`, 'm'))
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toContain('/data')
  })

  test('the settings are valid, none comes from a service link, and files are mounted secrets', () => {
    expect(pod.enableServiceLinks).toBe(false)
    const [settings] = manifests.filter(({ kind }) => kind === 'ConfigMap')
    const file = join(folder.path, 'secret')
    writeFileSync(file, 'postgres://mayfly:secret@db.test/mayfly')
    const named = container.env.map(({ name }) => [name, file])
    const env = { ...settings?.data, ...Object.fromEntries(named), MAYFLY_REDIS_FILE: '' }
    const { config } = readConfig({ env, file: {} })
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(config.drainMs / 1000 + 60)
    expect(replicas > 1).toBe(env.MAYFLY_STORE_FILE !== undefined)
    const secrets = pod.volumes.filter(({ secret }) => secret).map(({ name }) => name)
    const folders = container.volumeMounts.filter(({ name }) => secrets.includes(name))
    for (const { name, value } of container.env) {
      const found = folders.some(({ mountPath }) => value.startsWith(`${mountPath}/`))
      expect(found, name).toBe(true)
    }
  })
})
