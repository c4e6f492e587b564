import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { withServer } from './kit/app/checked-app.ts'
import { freeServicePorts, MAIN, ROOT } from './kit/app/service-process.ts'
import { certificateFor } from './kit/http/https-proxy.ts'
import { mountProblem } from './kit/programs/capabilities.ts'
import { program } from './kit/programs/programs.ts'
import { skipOrFail } from './kit/skip.ts'
import { tempFolder } from './kit/store/stores.ts'

// `mayfly serve` with something wrong on the machine: it ends with 1, and with one line that says what to do.

let folder: ReturnType<typeof tempFolder>
let data: string
beforeEach(() => {
  folder = tempFolder()
  data = join(folder.path, 'data')
})
afterEach(() => folder.remove())

async function serve(env: Record<string, string> = {}, under: readonly string[] = []) {
  const ports = await freeServicePorts()
  const [command = '', ...args] = [...under, process.execPath, MAIN, 'serve']
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 60_000,
    env: {
      ...process.env,
      MAYFLY_DATA: data,
      MAYFLY_HOST: '127.0.0.1',
      MAYFLY_HTTP_PORT: String(ports.http),
      MAYFLY_SMTP_PORT: String(ports.smtp),
      MAYFLY_HTTP_THREADS: '1',
      MAYFLY_SMTP_THREADS: '1',
      ...env,
    },
  })
  return { status, output: stdout + stderr }
}

async function expectLine(
  pattern: RegExp,
  env: Record<string, string> = {},
  under: readonly string[] = [],
) {
  const { status, output } = await serve(env, under)
  expect(output).toMatch(pattern)
  expect(output.split('\n').length, `one line: ${output}`).toBe(2)
  expect(output).not.toMatch(/\n\s+at |node:internal/)
  expect(status).toBe(1)
}

const file = (name: string, content: string) => {
  const path = join(folder.path, name)
  writeFileSync(path, content, { mode: 0o600 })
  return path
}
const pair = (cert: string, key: string) => ({
  MAYFLY_SMTP_TLS_CERT: file('cert.pem', cert),
  MAYFLY_SMTP_TLS_KEY: file('key.pem', key),
})
const certificateOf = (pem: string) => pem.slice(pem.indexOf('-----BEGIN CERTIFICATE'))

describe('the certificate', () => {
  const [ours, other] = [certificateFor('mx.test'), certificateFor('other.test')]
  const encrypted = () =>
    execFileSync(program('openssl'), ['pkey', '-aes256', '-passout', 'pass:x'], {
      input: ours,
      encoding: 'utf8',
    })
  for (const [name, cert, key, pattern] of [
    ['of another key', ours, other, /key .*key\.pem does not belong .*cert\.pem\. Install/],
    [
      'behind its issuer',
      certificateOf(other) + certificateOf(ours),
      ours,
      /begins with a certificate of its issuer\. Put certificate 2/,
    ],
    ['that is none', 'hello', ours, /cert\.pem contains no certificate .*fullchain\.pem/],
    ['without a key', ours, certificateOf(ours), /key\.pem contains no private key .*privkey/],
    ['with an encrypted key', ours, encrypted(), /key\.pem is encrypted\. .*openssl pkey -in/],
    [
      'that is damaged',
      ours.replace(/(?<=BEGIN CERTIFICATE-----\n).{8}/, 'AAAAAAAA'),
      ours,
      /cannot be used .*Obtain a new certificate/,
    ],
  ] as const) {
    test(name, () => expectLine(pattern, pair(cert, key)))
  }

  test('that does not exist', () =>
    expectLine(/^MAYFLY_SMTP_TLS_CERT .*: \/no\/cert\.pem does not exist\. Correct the path/, {
      MAYFLY_SMTP_TLS_CERT: '/no/cert.pem',
      MAYFLY_SMTP_TLS_KEY: '/no/key.pem',
    }))

  test('of the installation that is damaged', async () => {
    mkdirSync(data)
    writeFileSync(join(data, 'smtp-tls.pem'), '')
    await expectLine(/smtp-tls\.pem contains no certificate.* Delete it: a new one is created/)
  })
})

describe('the data directory', () => {
  /** As a user who is not the owner. */
  const NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']

  test('that is a file', () => {
    writeFileSync(data, '')
    return expectLine(/^MAYFLY_DATA: .* is not a directory\. Set MAYFLY_DATA/)
  })

  test('whose lock is damaged', () => {
    mkdirSync(data)
    writeFileSync(join(data, 'lock.db'), 'x'.repeat(5_000))
    return expectLine(/lock\.db is damaged\. Delete it/)
  })

  test.runIf(process.getuid?.() === 0)('that belongs to root', () => {
    mkdirSync(data, { mode: 0o755 })
    chmodSync(folder.path, 0o755)
    return expectLine(/user 65534 may not create files there\. .*chown -R 65534 /, {}, NOBODY)
  })

  test.runIf(process.getuid?.() === 0)('with a database that belongs to root', () => {
    mkdirSync(data, { mode: 0o755 })
    chmodSync(folder.path, 0o755)
    writeFileSync(join(data, 'mail.db'), '', { mode: 0o600 })
    chownSync(data, 65_534, 65_534)
    return expectLine(/user 65534 may not write to .*mail\.db\. .*chown -R --ref/, {}, NOBODY)
  })

  for (const [name, options, prepare, pattern] of [
    [
      'that is read-only',
      ['-o', 'ro'],
      () => {},
      /read-only file system\. Make it writable: mount/,
    ],
    ['that is full', ['-o', 'size=64k'], fill, /the disk is full\. Free some space/],
    ['without inodes', ['-o', 'nr_inodes=1'], () => {}, /no inodes left\. .*df -i/],
  ] as const) {
    test(name, async (context) => {
      skipOrFail(mountProblem, context)
      mkdirSync(data)
      execFileSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', data])
      try {
        prepare(data)
        await expectLine(pattern)
      } finally {
        execFileSync('umount', [data])
      }
    })
  }
})

function fill(path: string): void {
  try {
    writeFileSync(join(path, 'ballast'), Buffer.alloc(1_000_000))
  } catch {
    // That is what it is for.
  }
}

describe('the port', () => {
  test('that another program uses', async () => {
    await withServer(createServer(), async (port) =>
      expectLine(/EADDRINUSE.*Stop the program .*'sport = :\d+'.*MAYFLY_SMTP_PORT/, {
        MAYFLY_SMTP_PORT: String(port),
      }),
    )
  })

  test.runIf(process.getuid?.() === 0)('below 1024 without the capability', () => {
    const under = ['setpriv', '--inh-caps=-all', '--bounding-set=-net_bind_service']
    return expectLine(
      /EACCES.*CAP_NET_BIND_SERVICE in the systemd unit/,
      { MAYFLY_SMTP_PORT: '925' },
      under,
    )
  })

  test('at an address of another machine', () =>
    expectLine(/EADDRNOTAVAIL.*Set MAYFLY_HOST to an address of this machine/, {
      MAYFLY_HOST: '203.0.113.1',
    }))

  test('at a name that does not exist', () =>
    expectLine(/ENOTFOUND|EAI_AGAIN.*Correct the name/, { MAYFLY_HOST: 'no.such.invalid' }))
})

describe('the settings', () => {
  test('a secret in a file that is a directory', async () => {
    const { status, output } = await serve({ MAYFLY_ADMIN_TOKEN_FILE: folder.path })
    expect(output).toMatch(/^Invalid settings:\n {2}MAYFLY_ADMIN_TOKEN: /)
    expect(output).not.toMatch(/\n\s+at /)
    expect(status).toBe(1)
  })

  test('accounts in a file that does not exist', async () => {
    const { output } = await serve({ MAYFLY_GMAIL_ACCOUNTS_FILE: '/no/accounts.json' })
    expect(output).toMatch(/MAYFLY_GMAIL_ACCOUNTS_FILE: file \/no\/accounts\.json does not exist/)
  })
})
