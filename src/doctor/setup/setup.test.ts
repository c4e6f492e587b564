import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { CommandError } from '../../cli/output.ts'
import { readConfig } from '../../runtime/config.ts'
import { type Machine, setupActions } from './machine.ts'
import { setUp } from './setup.ts'

let folder: ReturnType<typeof tempFolder>
beforeEach(() => {
  folder = tempFolder()
})
afterEach(() => folder.remove())

const ADDRESS = ['203.0.113.7', '2001:db8::7']
// Nothing answers there; the machine of the test may have public addresses, and a service.
const DNS = { MAYFLY_DNS: '127.0.0.1:1' }

type Options = Parameters<typeof setUp>[1]

const FREE = { state: 'free', seen: '' } as const
const UNUSED = {
  port25: FREE,
  portHttp: FREE,
  port80: FREE,
  port443: FREE,
  isRunning: false,
  isInUse: false,
}

interface Given {
  env?: Record<string, string>
  /** By the first word of a question, one after the other; then the proposal is taken. */
  answers?: Record<string, string[]>
  /** What differs on this machine. */
  machine?: Partial<Machine>
}

async function run(options: Options, { env = {}, answers, machine = {} }: Given = {}) {
  const printed: string[] = []
  const asked: [string, string][] = []
  const ask = async (question: string, proposal: string) => {
    asked.push([question, proposal])
    return answers?.[question.split(' ')[0] ?? '']?.shift() ?? proposal
  }
  const deps = { command: 'mayfly', cwd: folder.path, env: { ...DNS, ...env }, readConfig }
  const actions = setupActions(deps)
  // Other tests may use the ports.
  const inspectMachine: typeof actions.inspectMachine = async (path) =>
    Object.assign(await actions.inspectMachine(path), UNUSED, machine)
  await setUp(
    { ...actions, inspectMachine },
    { address: ADDRESS, ...options },
    { print: (line) => printed.push(line), ask: answers && ask },
  )
  return { output: printed.join('\n'), asked }
}

const file = (name: string) => join(folder.path, name)
const written = (name: string) => readFileSync(file(name), 'utf8')

const TEMPLATE = `# Settings
MAYFLY_DOMAINS=box.example.org
MAYFLY_SMTP_HOSTNAME=mx.example.org
#MAYFLY_BASE_URL=https://box.example.org
#MAYFLY_ADMIN_TOKEN_FILE=/etc/mayfly/admin-token
`

test('fills in the settings file of a package and prints the zone', async () => {
  writeFileSync(file('mayfly.env'), TEMPLATE, { mode: 0o640 })
  const env = {
    MAYFLY_DOMAINS: 'box.example.org',
    MAYFLY_SMTP_HOSTNAME: 'mx.example.org',
    MAYFLY_SMTP_PORT: '25',
  }
  const { output } = await run(
    { file: file('mayfly.env'), domain: ['mail.test'], tlsRpt: true, mtaSts: true },
    { env },
  )
  expect(written('mayfly.env')).toBe(`# Settings
MAYFLY_DOMAINS=mail.test
MAYFLY_SMTP_HOSTNAME=mx.mail.test
#MAYFLY_BASE_URL=https://box.example.org
MAYFLY_BASE_URL=https://mail.test
#MAYFLY_ADMIN_TOKEN_FILE=/etc/mayfly/admin-token
MAYFLY_ADMIN_TOKEN_FILE=${file('admin-token')}
MAYFLY_TRUST_PROXY=127.0.0.1
MAYFLY_MTA_STS=testing
`)
  expect(statSync(file('mayfly.env')).mode & 0o777).toBe(0o640)
  expect(written('admin-token')).toMatch(/^[\w+/]{43}=\n$/)
  expect(output).toContain('MAYFLY_DOMAINS=mail.test (was box.example.org)')
  expect(output.replace(/id=\d{12}/, 'id=TIME')).toContain(`mx.mail.test. 3600 IN A 203.0.113.7
mx.mail.test. 3600 IN AAAA 2001:db8::7
mail.test. 3600 IN A 203.0.113.7
mail.test. 3600 IN AAAA 2001:db8::7
mail.test. 3600 IN MX 10 mx.mail.test.
mail.test. 3600 IN TXT "v=spf1 -all"
_dmarc.mail.test. 3600 IN TXT "v=DMARC1; p=reject; rua=mailto:postmaster@mail.test"
_mta-sts.mail.test. 3600 IN TXT "v=STSv1; id=TIME"
mta-sts.mail.test. 3600 IN A 203.0.113.7
mta-sts.mail.test. 3600 IN AAAA 2001:db8::7
_smtp._tls.mail.test. 3600 IN TXT "v=TLSRPTv1; rua=mailto:postmaster@mail.test"
; at the provider of the address: 7.113.0.203.in-addr.arpa. 3600 IN PTR mx.mail.test.`)
  expect(output).toContain('Send HTTPS requests for mta-sts.DOMAIN there too')
  expect(output).toMatch(
    /\d\. Start the service: +mayfly serve\n.*Check the installation: +mayfly doctor$/ms,
  )
})

test('a wildcard has MX and SPF records, and the names of this service are proposed beside it', async () => {
  const options = { file: file('mayfly.env'), domain: ['*.mail.test'], mtaSts: true, tlsRpt: true }
  const { output } = await run(options)
  expect(written('mayfly.env')).toContain(
    'MAYFLY_DOMAINS=*.mail.test\nMAYFLY_SMTP_HOSTNAME=mx.mail.test\n',
  )
  expect(written('mayfly.env')).toContain('MAYFLY_BASE_URL=https://mail.test\n')
  const records = output
    .split('\n')
    .filter((line) => line.includes(' IN ') && !/ IN (?:A|AAAA|PTR) /.test(line))
  expect(records).toEqual([
    '*.mail.test. 3600 IN MX 10 mx.mail.test.',
    '*.mail.test. 3600 IN TXT "v=spf1 -all"',
  ])
})

test('what the environment overrides is named', async () => {
  const options = { file: file('mayfly.env'), domain: ['mail.test'], dryRun: true }
  const env = { MAYFLY_BASE_URL: 'https://other.test' }
  expect((await run(options, { env })).output).toContain('MAYFLY_BASE_URL=https://other.test\n')
  const { output } = await run({ ...options, url: 'https://mail.test/' }, { env })
  expect(output).toContain('MAYFLY_BASE_URL=https://mail.test; the environment has another value')
})

describe('what it says', () => {
  const ours = { state: 'this service', seen: '' } as const
  const exim = { state: 'in use', seen: '220 mx.test ESMTP Exim' } as const
  const old = { domains: ['old.test'], hostname: 'mx.old.test', isHostnameGiven: true }
  for (const [name, machine, expected, unexpected] of [
    [
      'with another mail server on port 25',
      { port25: exim, smtpPort: 25 },
      ['Port 25    in use: 220 mx.test ESMTP Exim', '1. Stop the other mail server'],
      ['Redirect port 25'],
    ],
    [
      'on a new machine',
      { port25: FREE, portHttp: FREE, isRunning: false, isSmtpPortGiven: false },
      ['MAYFLY_SMTP_PORT=25', '1. Start the service:       mayfly serve'],
      ['Redirect port 25', 'Stop the'],
    ],
    [
      'with another program on the port for HTTP',
      { portHttp: { state: 'in use', seen: '' }, isRunning: false, httpPort: 8080 },
      [
        'Port 80    free',
        'Port 8080  in use',
        '1. Stop the program that uses port 8080, or set MAYFLY_HTTP_PORT.',
      ],
      [],
    ],
    [
      'while the service runs',
      { ...old, port25: ours, portHttp: { state: 'in use', seen: '' }, isRunning: true },
      ['Port 25    this service', '1. Restart the service:     stop it, then mayfly serve'],
      ['Redirect port 25', 'Stop the', 'MAYFLY_SMTP_PORT'],
    ],
    [
      'where port 25 is free, but another one is set',
      { port25: FREE, smtpPort: 2525, isSmtpPortGiven: true },
      ['Redirect port 25 to 2525'],
      ['MAYFLY_SMTP_PORT'],
    ],
    [
      'of a clone under systemd',
      { ...old, file: '/etc/mayfly/mayfly.env', command: 'npm run mayfly --', isRunning: true },
      ['Restart the service:     systemctl restart mayfly', 'doctor, as in "Clone" in docs/inst'],
      ['npm run'],
    ],
    [
      'if the settings belong to root alone',
      { isFileOfRoot: true, hasAdminToken: false },
      ['Let the service read the admin token, unless it runs as root'],
      [],
    ],
    ['without network', { addresses: [], hasNetwork: false }, ['none: this machine has no'], []],
    [
      'behind NAT',
      { addresses: [], hasNetwork: true },
      ['none public: this machine is behind NAT', 'mx.a.test. 3600 IN A ADDRESS'],
      [],
    ],
    [
      'behind NAT with IPv6',
      { addresses: ['2001:db8::7'] },
      [
        'no public IPv4 address: this machine is behind NAT',
        'mx.a.test. 3600 IN A ADDRESS\nmx.a.test. 3600 IN AAAA 2001:db8::7\n',
      ],
      [],
    ],
    [
      'of an installation without a public host name',
      { ...old, hostname: 'vps7', isHostnameGiven: false, namesInFile: ['MAYFLY_DOMAINS'] },
      [
        'mx.old.test. 3600 IN A ',
        '1. Set MAYFLY_SMTP_HOSTNAME=mx.old.test',
        'IN MX 10 mx.old.test.',
      ],
      ['  MAYFLY_SMTP_HOSTNAME', 'MAYFLY_BASE_URL', 'Put HTTPS'],
    ],
    [
      'if a policy is served already',
      { ...old, hasMtaSts: true },
      ['_mta-sts.a.test. 3600 IN TXT', '_mta-sts.old.test. 3600 IN TXT'],
      ['names the new host', 'MAYFLY_MTA_STS'],
    ],
  ] as [string, Partial<Machine>, string[], string[]][]) {
    test(name, async () => {
      const address = machine.addresses === undefined ? ADDRESS : [...machine.addresses]
      const options = { domain: ['a.test'], dryRun: true, address }
      const { output } = await run(options, { machine: { isFileOfRoot: false, ...machine } })
      for (const text of expected) expect(output).toContain(text)
      for (const text of unexpected) expect(output).not.toContain(text)
    })
  }

  test('a policy that is served names the host: another name needs care', async () => {
    const options = { domain: ['a.test'], hostname: 'mx2.a.test', dryRun: true }
    const { output } = await run(options, { machine: { ...old, hasMtaSts: true } })
    expect(output).toContain('1. The MTA-STS policy names the new host')
  })

  test('a URL that is not in public DNS needs no record', async () => {
    for (const url of ['http://localhost:8080', 'http://192.0.2.1:8080', 'http://nas.local']) {
      const { output } = await run({ domain: ['a.test'], url, dryRun: true })
      expect(output.match(/^\S+ 3600 IN A .*$/gm)).toEqual(['mx.a.test. 3600 IN A 203.0.113.7'])
    }
  })
})

describe('on a terminal', () => {
  test('it asks with proposals, and writes only after a yes', async () => {
    const answers = { Mail: ['mail.test'], Write: ['no'] }
    await expect(run({ file: file('mayfly.env') }, { answers })).rejects.toThrow(
      'Nothing was written.',
    )
    expect(existsSync(file('mayfly.env'))).toBe(false)
    const { asked } = await run({ file: file('mayfly.env') }, { answers: { Mail: ['mail.test'] } })
    expect(asked).toEqual([
      ['Mail domain', ''],
      ['Host name of this machine', 'mx.mail.test'],
      ['Public URL', 'https://mail.test'],
      ['Email for reports', 'postmaster@mail.test'],
      ['Obtain certificates and serve HTTPS without a proxy', 'yes'],
      ['Write them?', 'yes'],
    ])
    expect(written('mayfly.env')).toContain('MAYFLY_DOMAINS=mail.test\n')
    expect(written('mayfly.env')).toContain('MAYFLY_ACME=on\n')
  })

  test.each([
    ['port 443 is in use', {}, { port443: { state: 'in use', seen: '' } }],
    ['the URL is not https', { url: 'http://mail.test' }, {}],
    ['the option says no', { acme: false }, {}],
  ] as [string, Options, Partial<Machine>][])(
    'no certificates are offered if %s',
    async (_, options, machine) => {
      const answers = { Mail: ['mail.test'] }
      const { asked } = await run({ file: file('mayfly.env'), ...options }, { answers, machine })
      expect(asked.map(([question]) => question.split(' ')[0])).not.toContain('Obtain')
      expect(written('mayfly.env')).not.toContain('MAYFLY_ACME')
    },
  )

  test('an invalid answer is asked for again', async () => {
    const answers = {
      Mail: ['', 'localhost', 'a.test,b.test'],
      Public: ['ftp://a', 'http://a.test'],
    }
    const { asked, output } = await run({ file: file('mayfly.env') }, { answers })
    const words = asked.map(([question]) => question.split(' ')[0])
    expect(words.join()).toBe('Mail,Mail,Mail,Host,Public,Public,Email,Write')
    expect(output).toContain('"localhost" is not a host name.\n"ftp://a" is not an http(s) URL.')
    expect(written('mayfly.env')).toContain('MAYFLY_DOMAINS=a.test,b.test\n')
  })
})

test('the default plans are named as the promise of the operator; plans of their own are not', async () => {
  const options = { file: file('mayfly.env'), domain: ['mail.test'], dryRun: true }
  const promise = 'the default plans promise "Standard e-mail support" and "24/7 priority support"'
  expect((await run(options)).output).toContain(promise)
  const plan = { id: 'a', name: 'A', price_cents: 1, currency: 'usd', requests: 1, support: 'None' }
  writeFileSync(file('plans.json'), JSON.stringify([plan]))
  const own = await run(options, { env: { MAYFLY_PLANS_FILE: file('plans.json') } })
  expect(own.output).not.toContain('promise')
})

test('the port of an installation that has a domain is kept: it may be redirected', async () => {
  writeFileSync(file('mayfly.env'), 'MAYFLY_DOMAINS=a.test\n')
  const { output } = await run({ file: file('mayfly.env'), domain: ['b.test'] })
  expect(written('mayfly.env')).not.toContain('MAYFLY_SMTP_PORT')
  expect(output).toContain('Redirect port 25 to 2525')
})

test('a port that is set is kept, also if it is the default one', async () => {
  const port = { MAYFLY_SMTP_PORT: '2525' }
  const options = { file: file('mayfly.env'), domain: ['mail.test'], dryRun: true }
  expect((await run(options, { env: port })).output).not.toContain('MAYFLY_SMTP_PORT')
  writeFileSync(file('mayfly.env'), 'MAYFLY_SMTP_PORT=2525\n')
  expect((await run(options)).output).not.toContain('MAYFLY_SMTP_PORT')
})

test('--dry-run writes nothing', async () => {
  const options = { file: file('mayfly.env'), domain: ['mail.test'], dryRun: true }
  const { output } = await run(options)
  expect(output).toContain('MAYFLY_DOMAINS=mail.test')
  expect(existsSync(file('mayfly.env'))).toBe(false)
  expect(existsSync(file('admin-token'))).toBe(false)
})

test('each domain has its own records: the one that sends receipts allows it', async () => {
  const env = {
    MAYFLY_MAIL_OUT: 'smtp://127.0.0.1:25',
    MAYFLY_MAIL_FROM: 'Shop <shop@b.test>',
    MAYFLY_BASE_URL: 'https://a.test',
    MAYFLY_SMTP_HOSTNAME: 'mx.a.test',
  }
  const options = { file: file('mayfly.env'), domain: ['a.test', 'b.test'], dryRun: true }
  const { output } = await run(options, { env })
  expect(output).toContain(`a.test. 3600 IN TXT "v=spf1 -all"
_dmarc.a.test. 3600 IN TXT "v=DMARC1; p=reject; rua=mailto:postmaster@a.test"
`)
  expect(output).toContain(`; b.test sends receipts: keep the SPF and DMARC records that it has.
b.test. 3600 IN TXT "v=spf1 a:mx.a.test -all"
_dmarc.b.test. 3600 IN TXT "v=DMARC1; p=none; rua=mailto:postmaster@b.test"
`)
  const MAYFLY_MAIL_OUT = 'smtp://smtp.provider.net'
  const other = await run({ ...options, email: 'ann@c.test' }, { env: { ...env, MAYFLY_MAIL_OUT } })
  expect(other.output).toContain('; Otherwise replace SPF_OF_PROVIDER by the name that')
  expect(other.output).toContain(
    '; in the zone of c.test: a.test._report._dmarc.c.test. 3600 IN TXT "v=DMARC1"',
  )
})

describe('an invalid command line', () => {
  for (const [options, message] of [
    [{}, 'No domain given.'],
    [{ domain: ['localhost'] }, '--domain "localhost" is not a host name.'],
    [{ domain: ['a.test'], hostname: '10.0.0.1' }, '--hostname "10.0.0.1" is not a host name.'],
    [{ domain: ['a.test'], url: 'a.test' }, '--url "a.test" is not an http(s) URL.'],
    [{ domain: ['a.test'], url: 'https://a.test/?b' }, '--url "https://a.test/?b" is not'],
    [{ domain: ['a.test'], url: 'https://a:b@a.test' }, '--url "https://a:b@a.test" is not'],
    [{ domain: ['a.test'], url: 'https://a.test\nA=1' }, '--url "https://a.test\\nA=1" is not'],
    [{ domain: ['a.test'], email: 'ann' }, '--email "ann" is not an email address.'],
    [{ domain: ['a.test'], address: ['mx.a.test'] }, '--address "mx.a.test" is not an IP address.'],
  ] as const) {
    test(message, async () => {
      const failed = await run({ ...options, file: file('mayfly.env') } as Options).catch(
        (error: unknown) => error,
      )
      expect(failed).toBeInstanceOf(CommandError)
      expect(failed).toMatchObject({ exitCode: 2, message: expect.stringContaining(message) })
    })
  }
})
