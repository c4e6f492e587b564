import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../src/runtime/config.ts'
import { ROOT } from './kit/app/service-process.ts'
import { tempFolder } from './kit/store/stores.ts'

// The Compose files are consistent with the program, with each other and with the files that they mount.

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const folder = tempFolder()
afterAll(folder.remove)

test('the files use the same ports', () => {
  const { http, smtp } = readConfig({ env: {}, file: {} }).config
  const nodes = [...read('deploy/haproxy.cfg').matchAll(/ server (node\d) \1:(\d+) /g)]
  expect(nodes.length).toBe(12)
  expect([...new Set(nodes.map(([, , port]) => Number(port)))]).toStrictEqual([
    smtp.port,
    http.port,
  ])
  expect(read('deploy/Dockerfile')).toMatch(new RegExp(`^EXPOSE ${http.port} ${smtp.port}$`, 'm'))
  const settings = read('deploy/mayfly.env')
  expect(settings).toMatch(new RegExp(`^#MAYFLY_SMTP_PORT=${smtp.port}$`, 'm'))
  const { mayfly } = compose('compose.yaml').services
  expect(mayfly?.ports).toStrictEqual([`25:${smtp.port}`, `127.0.0.1:8080:${http.port}`])
  expect(read('deploy/Caddyfile')).toMatch(
    new RegExp(`^\\treverse_proxy mayfly:${http.port}$`, 'm'),
  )
})

test('the node of the Compose file without a proxy serves HTTPS, and the CA reaches it', () => {
  const file = compose('compose.acme.yaml')
  const { mayfly } = file.services
  const given = {
    MAYFLY_BASE_URL: 'https://box.test',
    MAYFLY_ACME_EMAIL: 'ann@box.test',
    MAYFLY_ADMIN_TOKEN_FILE: '',
  }
  for (const name of ['MAYFLY_BASE_URL', 'MAYFLY_ACME_EMAIL'])
    expect(mayfly?.environment?.[name]).toBe(`\${${name}:?set it in deploy/.env}`)
  const { http, smtp, acme } = readConfig({
    env: { ...mayfly?.environment, ...given },
    file: {},
  }).config
  expect([acme.on, http.trustProxy]).toStrictEqual([true, []])
  expect(mayfly?.ports).toStrictEqual([
    `25:${smtp.port}`,
    `80:${http.port}`,
    `443:${acme.httpsPort}`,
    `127.0.0.1:8080:${http.port}`,
  ])
  // One can take the place of the other.
  const { name, networks, services } = compose('compose.yaml')
  expect([file.name, file.networks]).toStrictEqual([name, networks])
  expect(mayfly?.volumes).toStrictEqual(services['mayfly']?.volumes)
})

test('the nodes of the Compose file trust its HAProxy as a proxy and nothing else', () => {
  const { services } = compose('compose.many.yaml')
  const proxy = (services['haproxy']?.networks as Networks | undefined)?.['front']?.ipv4_address
  for (const name of ['node1', 'node2', 'node3']) {
    const { config } = readNode(services[name])
    expect(config.smtp.proxyFrom).toStrictEqual([proxy])
    expect(config.http.trustProxy).toStrictEqual([proxy])
  }
})

test('the nodes of the Compose file have one certificate for SMTP', () => {
  const { services, secrets } = compose('compose.many.yaml')
  for (const name of ['node1', 'node2', 'node3']) {
    const { environment = {}, secrets: used = [] } = services[name] ?? {}
    expect(environment).toMatchObject({
      MAYFLY_SMTP_TLS_CERT: '/run/secrets/smtp-cert',
      MAYFLY_SMTP_TLS_KEY: '/run/secrets/smtp-key',
    })
    expect(used).toEqual(expect.arrayContaining(['smtp-cert', 'smtp-key']))
  }
  expect(secrets).toMatchObject({ 'smtp-cert': { file: './secrets/smtp-cert' } })
})

test('the node of the Compose file trusts its Caddy as a proxy and nothing else', () => {
  const { mayfly, caddy } = compose('compose.yaml').services
  const front = (caddy?.networks as Networks | undefined)?.['front']
  const { ipv4_address: v4, ipv6_address: v6 } = front ?? {}
  expect(readNode(mayfly).config.http.trustProxy).toStrictEqual([v4, v6])
})

test('/metrics of every node can be scraped on this machine with the admin token, and is not public', () => {
  const scraped: string[] = []
  for (const [file, names] of [
    ['compose.yaml', ['mayfly']],
    ['compose.acme.yaml', ['mayfly']],
    ['compose.many.yaml', ['node1', 'node2', 'node3']],
  ] as const) {
    const { services, secrets } = compose(file)
    for (const { environment = {}, secrets: used, ports = [] } of names.map(
      (name) => services[name] ?? {},
    )) {
      expect(used).toContain('admin-token')
      expect(environment['MAYFLY_ADMIN_TOKEN_FILE']).toBe('/run/secrets/admin-token')
      scraped.push(...ports.flatMap((port) => /^(127\.0\.0\.1:\d+):8080$/.exec(port)?.[1] ?? []))
    }
    expect(secrets).toMatchObject({ 'admin-token': { file: './secrets/admin-token' } })
  }
  const targets = read('deploy/prometheus/prometheus.yml').match(/127\.0\.0\.1:\d+/g) ?? []
  expect(distinct(scraped)).toStrictEqual(distinct(targets))
  expect(read('deploy/haproxy.cfg')).toMatch(
    /deny_status 404 if \{ path,url_dec -m beg \/metrics \}/,
  )
})

test('only nodes get the settings, Caddy the public URL', () => {
  for (const [file, nodes] of [
    ['compose.yaml', ['mayfly']],
    ['compose.acme.yaml', ['mayfly']],
    ['compose.many.yaml', ['node1', 'node2', 'node3']],
  ] as const) {
    const { services } = compose(file)
    const names = Object.keys(services).filter((name) => services[name]?.env_file)
    expect(names).toStrictEqual(nodes)
  }
  const { caddy } = compose('compose.yaml').services
  const [name = '', ...others] = Object.keys(caddy?.environment ?? {})
  expect(others).toStrictEqual([])
  expect(read('deploy/Caddyfile')).toMatch(new RegExp(`^\\{\\$${name}\\} \\{$`, 'm'))
})

test('the stop timeout is a minute longer than the drain', () => {
  const node = compose('compose.many.yaml').services['node1']
  const { drainMs } = readNode(node).config
  expect(seconds(node?.stop_grace_period)).toBeGreaterThan(drainMs / 1000 + 60)
  const [, timeout] = /^TimeoutStopSec=(.*)$/m.exec(read('deploy/mayfly.service')) ?? []
  const [, drain] = /MAYFLY_DRAIN=(\w+)/.exec(read('deploy/mayfly.env')) ?? []
  expect(seconds(timeout)).toBeGreaterThan(seconds(drain) + 60)
})

test('everything that a service of a Compose file uses is declared in that file', () => {
  for (const file of ['compose.yaml', 'compose.acme.yaml', 'compose.many.yaml']) {
    const { services, ...declared } = compose(file)
    const all = Object.values(services)
    const volumes = all.flatMap((one) => one.volumes ?? []).map((volume) => volume.split(':')[0])
    const used = {
      secrets: all.flatMap((one) => one.secrets ?? []),
      networks: all.flatMap(({ networks = [] }) =>
        Array.isArray(networks) ? networks : Object.keys(networks),
      ),
      volumes: volumes.filter((volume) => /^\w/.test(volume ?? '')),
      services: all.flatMap(({ depends_on: on = [] }) =>
        Array.isArray(on) ? on : Object.keys(on),
      ),
    }
    expect(distinct(used.secrets)).toStrictEqual(Object.keys(declared.secrets ?? {}).sort())
    expect(distinct(used.networks)).toStrictEqual(Object.keys(declared.networks ?? {}).sort())
    expect(distinct(used.volumes)).toStrictEqual(Object.keys(declared.volumes ?? {}).sort())
    for (const name of used.services) expect(services[name], `${file} has no ${name}`).toBeTruthy()
  }
})

function readNode(node: Service | undefined) {
  const store = join(folder.path, 'store')
  writeFileSync(store, 'postgres://mayfly:secret@postgres/mayfly\n')
  const { MAYFLY_ADMIN_TOKEN_FILE: _, ...environment } = node?.environment ?? {}
  return readConfig({ env: { ...environment, MAYFLY_STORE_FILE: store }, file: {} })
}

const seconds = (text = '') => Number(/^(\d+)s$/.exec(text)?.[1])

const distinct = (list: (string | undefined)[]) => [...new Set(list)].sort()

interface Compose {
  name: string
  services: Record<string, Service>
  secrets?: Record<string, unknown>
  volumes?: Record<string, unknown>
  networks?: Record<string, unknown>
}

type Networks = Record<string, { ipv4_address?: string; ipv6_address?: string } | null>

interface Service {
  env_file?: string
  ports?: string[]
  environment?: Record<string, string>
  secrets?: string[]
  volumes?: string[]
  depends_on?: string[] | Record<string, unknown>
  stop_grace_period?: string
  networks?: string[] | Networks
}

function compose(file: string): Compose {
  return parse(read(`deploy/${file}`), { merge: true }) as Compose
}
