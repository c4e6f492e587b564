import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Installation } from '../src/doctor/checks.ts'
import { openHttpProbe } from '../src/doctor/probes/http.ts'
import { inspectDataDirectory } from '../src/doctor/probes/machine.ts'
import { expectOnly, HOST, useCheckedApp, withServer, wrong } from './kit/app/checked-app.ts'
import { runMayflyUnder } from './kit/app/cli.ts'
import { freeServicePorts, spawnService } from './kit/app/service-process.ts'
import { RIGHT, zone } from './kit/dns/faulty-zones.ts'
import { certificateFor, issuedCertificate, trustCertificates } from './kit/http/https-proxy.ts'
import { mountProblem } from './kit/programs/capabilities.ts'
import { freePort } from './kit/programs/server-process.ts'
import { skipOrFail } from './kit/skip.ts'
import { tempFolder } from './kit/store/stores.ts'

// Faults of certificates, proxies, settings and the machine, each reported by one check with its fix.

const { fixture, check, set, http, smtp } = useCheckedApp()

describe('the certificate', () => {
  test('is sent without its issuer', async () => {
    const { leaf, root } = issuedCertificate(HOST)
    const stopTrusting = trustCertificates([root], fixture().certificate)
    const results = await fixture()
      .withCertificate(leaf, () => check())
      .finally(stopTrusting)
    expectOnly(results, ['failure', 'certificate', 'fullchain.pem instead of cert.pem'])
  })

  test('was renewed without its key: the running service uses the old one', async () => {
    const results = await fixture().withCertificate(otherKey(), () => check())
    expectOnly(results, ['failure', 'certificate', 'certificate and key of the same renewal'])
  })

  test('was renewed without its key, and the service does not start', async () => {
    const ports = { smtp: await freePort(), http: await freePort() }
    const stopped = {
      ...set({
        smtp: { ...fixture().settings.smtp, port: ports.smtp },
        http: { ...fixture().settings.http, port: ports.http },
      }),
    }
    const results = await fixture().withCertificate(otherKey(), () => check(stopped))
    expectOnly(results, ['failure', 'certificate', 'certificate and key of the same renewal'])
  })

  test('has a key that all users can read', async () => {
    chmodSync(fixture().certificateFile, 0o644)
    const results = await check()
    chmodSync(fixture().certificateFile, 0o600)
    expectOnly(results, ['warning', 'certificate', `chmod o= ${fixture().certificateFile}`])
  })

  const otherKey = () => {
    const other = certificateFor(HOST)
    const key = other.slice(0, other.indexOf('-----BEGIN CERTIFICATE'))
    return (
      key + fixture().certificate.slice(fixture().certificate.indexOf('-----BEGIN CERTIFICATE'))
    )
  }
})

describe('the proxy', () => {
  async function checkProxy(options: Parameters<ReturnType<typeof fixture>['openProxy']>[0]) {
    const proxy = await fixture().openProxy(options)
    const found = await check(http({ baseUrl: `https://web.test:${proxy.port}` }))
    await proxy.close()
    return { found, port: proxy.port }
  }

  test('has a certificate that expires next week', async () => {
    const tenYearsAgo = new Date(Date.now() - 9.985 * 365.25 * 86_400_000)
    const web = certificateFor('web.test', tenYearsAgo)
    const stopTrusting = trustCertificates([web], fixture().certificates['web.test'])
    const certificates = { ...fixture().certificates, 'web.test': web }
    const { found } = await checkProxy({ certificates }).finally(stopTrusting)
    expectOnly(found, ['warning', 'base-url', 'Renew it in the proxy'])
  })

  test('redirects to itself', async () => {
    const proxy = await fixture().openProxy({ redirect: (path) => path })
    const baseUrl = `https://web.test:${proxy.port}`
    const results = await check(http({ baseUrl }))
    await proxy.close()
    expectOnly(results, ['failure', 'base-url', 'Full (strict) instead of Flexible'])
    expect(wrong(results)[0]?.seen).toContain(`redirects to ${baseUrl}/api/domains`)
  })

  test('redirects to another name', async () => {
    const { found } = await checkProxy({ redirect: (path) => `https://www.web.test${path}` })
    expectOnly(found, ['failure', 'base-url', 'Set MAYFLY_BASE_URL=https://www.web.test,'])
  })

  test('redirects to https, but the base URL is http', async () => {
    const upgrading = createServer(({ url }, response) =>
      response.writeHead(308, { location: `https://web.test${url}` }).end(),
    )
    const results = await withServer(upgrading, (port) =>
      check(http({ baseUrl: `http://web.test:${port}` })),
    )
    expectOnly(results, ['warning', 'base-url', 'MAYFLY_BASE_URL=https://web.test'])
  })

  test('passes on a stream only when it ends', async () => {
    const proxy = await fixture().openProxy({ buffers: true })
    const { httpGet, dns } = fixture().context
    // Nothing ever comes, so it need not be waited for.
    const impatient = openHttpProbe(dns, { timeoutMs: 200 })
    const results = await check({
      ...http({ baseUrl: `https://web.test:${proxy.port}` }),
      httpGet: (url, options) => (options.isStream ? impatient : httpGet)(url, options),
    })
    await proxy.close()
    expectOnly(results, ['warning', 'stream', 'proxy_buffering off'])
  })

  test('serves a certificate of another name', async () => {
    const certificates = { 'web.test': fixture().certificates[`mta-sts.${RIGHT}`] ?? '' }
    const { found } = await checkProxy({ certificates })
    expectOnly(found, ['failure', 'base-url', 'Install a valid certificate for web.test'])
  })
})

describe('settings', () => {
  for (const [name, changed, ...expected] of [
    [
      'every sender is a relay',
      { relays: ['0.0.0.0/0'] },
      'warning',
      'relays',
      'MAYFLY_SMTP_RELAYS',
    ],
    ['every sender is a balancer', { proxyFrom: ['::/0'] }, 'failure', 'relays', 'PROXY_FROM'],
  ] as const) {
    test(name, async () => expectOnly(await check(smtp(changed)), expected))
  }

  test('a term of SPF behind "all" does not let receipts through', async () => {
    const spf = `${RIGHT}. 60 IN TXT "v=spf1 -all a:out.${RIGHT}"`
    await fixture().dns.change(zone({}, { [RIGHT]: { spf } }))
    const mailOut = { url: `smtp://out.${RIGHT}:587`, from: `shop@${RIGHT}` }
    const results = await check(set({ mailOut }))
    await fixture().dns.change(zone())
    expectOnly(results, ['failure', 'spf', `"v=spf1 a:out.${RIGHT} -all"`])
  })

  const EMPTY = { MAYFLY_DNS: '127.0.0.1:1' }
  async function runDoctor(env: Record<string, string>, under: readonly string[] = []) {
    const folder = tempFolder()
    chmodSync(folder.path, 0o755)
    const data = join(folder.path, 'data')
    mkdirSync(data, { mode: 0o755 })
    const given = Object.entries({ ...EMPTY, ...env }).map(([name, value]) => `${name}=${value}`)
    const { stdout } = await runMayflyUnder([...under, 'env', ...given], data, 'doctor', '--json')
    folder.remove()
    return JSON.parse(stdout) as Awaited<ReturnType<typeof check>>
  }

  test('a secret in a directory', async () => {
    const results = await runDoctor({ MAYFLY_ADMIN_TOKEN_FILE: '/tmp' })
    expectOnly(results, ['failure', 'settings', 'mayfly config'])
  })

  test('accounts that are not JSON', async () => {
    const results = await runDoctor({ MAYFLY_GMAIL_ACCOUNTS_FILE: '/etc/hostname' })
    expectOnly(results, ['failure', 'settings', 'mayfly config'])
  })

  test.runIf(process.getuid?.() === 0)('a data directory of root', async () => {
    const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
    const data = (await runDoctor({}, nobody)).find(({ name }) => name === 'data')
    expect(data).toMatchObject({
      status: 'failure',
      fix: expect.stringContaining('chown -R 65534'),
    })
  })
})

describe('the machine', () => {
  test('files that another user created in the data directory', async () => {
    const file = join(fixture().app.folder, 'shop.db')
    chownSync(file, 65_534, 65_534)
    const results = await check()
    chownSync(file, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
    expectOnly(results, ['warning', 'data', 'chown -R --reference='])
  })

  for (const [name, options, prepare, fix] of [
    ['a read-only disk', 'ro', () => {}, 'mount -o remount,rw'],
    ['a full disk', 'size=64k', fill, 'Free some space'],
    ['a disk without inodes', 'nr_inodes=1', () => {}, 'df -i'],
    ['a disk with few inodes', 'nr_inodes=50', () => {}, 'df -i'],
  ] as const) {
    test(name, async (context) => {
      skipOrFail(mountProblem, context)
      const folder = tempFolder()
      execFileSync('mount', ['-t', 'tmpfs', '-o', `${options},mode=700`, 'tmpfs', folder.path])
      try {
        prepare(folder.path)
        const data = await inspectDataDirectory(folder.path, { minFreeBytes: 0, use: 'mail' })
        const results = await check({ dataDirectory: async () => ({ ...data, fsyncMs: 1 }) })
        const status = name === 'a disk with few inodes' ? 'warning' : 'failure'
        expectOnly(results, [status, 'data', fix])
      } finally {
        execFileSync('umount', [folder.path])
        folder.remove()
      }
    })
  }

  test('a small limit on open files', async () => {
    const folder = tempFolder()
    const ports = await freeServicePorts()
    const under = ['sh', '-c', 'ulimit -n 512; exec "$0" "$@"']
    const served = await spawnService({ folder: folder.path, ports, under })
    const changed = http({ port: ports.http })
    const own = {
      ...changed.settings,
      adminToken: '',
      smtp: { ...fixture().settings.smtp, port: ports.smtp },
    }
    const [limits] = await fixture().checkOnly('limits', { settings: own })
    await served.kill('SIGTERM')
    folder.remove()
    expect(limits).toMatchObject({ status: 'warning', fix: expect.stringContaining('LimitNOFILE') })
  })

  test('a control group with little memory', async () => {
    const httpGet: Installation['httpGet'] = async (url, options) => {
      const response = await fixture().context.httpGet(url, options)
      if (!url.endsWith('/metrics') || !('body' in response)) return response
      const body = response.body.replace(/(?<=^mayfly_memory_limit_bytes )\d+/m, '134217728')
      return { ...response, body }
    }
    expectOnly(await check({ httpGet }), ['warning', 'limits', 'MemoryMax=512M'])
  })
})

function fill(path: string): void {
  try {
    writeFileSync(join(path, 'ballast'), Buffer.alloc(1_000_000))
  } catch {
    // That is what it is for.
  }
}

describe('what strangers write', () => {
  for (const [name, text] of [
    ['a line break', 'v=spf1 a\\010failure  smtp  everything is lost -all'],
    ['an escape sequence', 'v=spf1 \\027[2J\\027]0;x\\007 -all'],
    ['40 kB', `v=spf1 ${'a:x.test '.repeat(4_400)}-all`],
  ] as const) {
    test(`${name} in a TXT record stays inside a short line`, async () => {
      const strings = (text.match(/(?:\\\d{3}|.){1,200}/g) ?? []).map((part) => `"${part}"`)
      const spf = `${RIGHT}. 60 IN TXT ${strings.join(' ')}`
      await fixture().dns.change(zone({}, { [RIGHT]: { spf } }))
      const results = await check()
      await fixture().dns.change(zone())
      const [found] = wrong(results)
      expect(found).toMatchObject({ name: 'spf', status: 'failure' })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
      expect(found?.seen).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
      expect(found?.seen.length).toBeLessThan(1_000)
    })
  }

  test('in a greeting cannot reverse text', async () => {
    const server = createTcpServer((socket) =>
      socket.on('error', () => {}).write('220 mx.test \u202egnihtyreve\u001b[31m\r\n'),
    )
    const [result] = await withServer(server, (port) =>
      fixture().checkOnly('smtp-public', {
        publicPorts: { ...fixture().context.publicPorts, smtp: port },
      }),
    )
    expect(result?.seen).toContain('220 mx.test \\u202egnihtyreve\\u001b[31m')
  })
})
