import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAIL } from './kit/app/app.ts'
import {
  freeServicePorts,
  MAIN,
  ROOT,
  type ServiceProcess,
  SOURCE,
  spawnService,
} from './kit/app/service-process.ts'
import { onTerminal } from './kit/programs/terminal.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { setSchemaVersion } from './kit/store/sql.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const folder = tempFolder()
let served: ServiceProcess
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  const ports = await freeServicePorts()
  const command = [process.execPath, SOURCE, 'serve']
  served = await spawnService({ folder: folder.path, ports, command, under: onTerminal() })
  env = {
    ...process.env,
    MAYFLY_DATA: folder.path,
    MAYFLY_HOST: '127.0.0.1',
    MAYFLY_HTTP_PORT: String(ports.http),
    MAYFLY_SMTP_PORT: String(ports.smtp),
    MAYFLY_AUTH_CHECKS: 'off',
  }
}, 60_000)
afterAll(async () => {
  expect(served.child.exitCode, served.output()).toBeNull()
  await served.kill('SIGTERM')
  folder.remove()
})

const mayfly = (...args: string[]) => run(MAIN, args)

function run(main: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
    timeout: 60_000,
  })
  return { status, stdout, stderr }
}

async function mail(to: string, raw = MAIL): Promise<number> {
  const client = await connectSmtp(served.smtpPort)
  const { code } = await client.send({ to: [to], raw })
  client.close()
  return code
}

async function offered(): Promise<string[]> {
  const listing = await fetch(`${served.url}/api/domains`)
  const { domains } = (await listing.json()) as { domains: { domain: string }[] }
  return domains.map(({ domain }) => domain)
}

test('the commands printed at the first start create a mailbox, send a mail to it and list it', async () => {
  const pasted = () => served.output().match(/^ {2}(?:box=|field\(|printf|curl).*$/gm) ?? []
  await waitUntil(async () => pasted().length >= 4)
  const { stdout } = spawnSync('sh', [], { input: pasted().join('\n'), encoding: 'utf8' })
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'success',
    messages: [{ sender_email: 'me@sender.example', subject: 'Hello' }],
  })
})

test('a service that only listens on loopback prints no warnings', () => {
  expect(served.output()).toContain('Mayfly is running.')
  expect(served.output()).not.toContain('"level":"warn"')
})

describe('mayfly inbox', () => {
  test('prints its address, then mail as it arrives, and exits after the given number', async () => {
    const args = [SOURCE, 'inbox', '--prefix', 'watched', '--count', '2']
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    const lines: string[] = []
    let sent = false
    for await (const line of createInterface(child.stdout)) {
      lines.push(line)
      const [, address] = /^Address {2}(watched@\S+)$/.exec(line) ?? []
      if (!address || sent) continue
      sent = true
      expect(await mail(address)).toBe(250)
      expect(await mail(address, MAIL.replace('Hello', 'Again'))).toBe(250)
    }
    expect(await ended).toEqual([0, null])
    const text = lines.join('\n')
    expect(text).toContain(`swaks --server 127.0.0.1:${served.smtpPort} --to watched@`)
    expect(text).toMatch(
      /Waiting for 2 messages\. Press Ctrl\+C to exit\.\n.*From: {4}Ann Sender <ann@sender\.test>\nSubject: Hello\nCode: {4}123456\n\nYour code is 123456\.\n.*Subject: Again/s,
    )
  })

  test('with --operator in a pipe exits after the stored mail', async () => {
    const child = spawn(process.execPath, [SOURCE, 'inbox', '--operator'], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    child.stdout.resume()
    expect(await ended).toEqual([0, null])
  })

  test('with --code prints only the code of the first mail that matches, and exits', async () => {
    const args = [SOURCE, 'inbox', '--prefix', 'coded', '--from', 'sender.test', '--code']
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'exit')
    const printed = text(child.stdout)
    for await (const line of createInterface(child.stderr)) {
      const [, address] = /^Address {2}(coded@\S+)$/.exec(line) ?? []
      if (!address) continue
      expect(await mail(address, MAIL.replace('ann@sender.test', 'eve@other.test'))).toBe(250)
      expect(await mail(address, MAIL.replace('Your code is 123456.', 'Hello.'))).toBe(250)
      expect(await mail(address, MAIL.replace('123456', '482913'))).toBe(250)
    }
    expect(await ended).toEqual([0, null])
    expect(await printed).toBe('482913\n')
  })

  test('prints the error of the service when a request is rejected', () => {
    const { status, stderr } = mayfly('inbox', '--prefix', 'postmaster')
    expect(status).toBe(1)
    expect(stderr).toMatch(/says: prefix: "postmaster" is reserved/)
  })

  test('reports that no service is running', () => {
    expect(mayfly('inbox', '--url', 'http://127.0.0.1:1')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'No Mayfly service found at http://127.0.0.1:1. Start it, or specify another with --url.\n',
    })
  })

  test('--operator shows mail for postmaster and abuse while the service runs', async () => {
    expect(await mail('Postmaster@box.test')).toBe(250)
    expect(await mail('abuse@pool.test', MAIL.replace('Hello', 'Spam from you'))).toBe(250)
    const { status, stdout } = mayfly('inbox', '--operator', '--count', '2')
    expect(status).toBe(0)
    expect(stdout).toMatch(/To: {6}postmaster@box\.test\nSubject: Hello\nCode: {4}123456\n\nYour/)
    expect(stdout).toMatch(/To: {6}abuse@pool\.test\nSubject: Spam from you/)
  })
})

describe('operator commands on sessions and mail, while the service runs', () => {
  const create = async (prefix: string) => {
    const body = new URLSearchParams({ prefix, domain_id: '1' })
    const response = await fetch(`${served.url}/api/create-session`, { method: 'POST', body })
    return (await response.json()) as { email: string; token: string }
  }
  const check = async (token: string) => {
    const response = await fetch(`${served.url}/api/check-mail?token=${token}`)
    return { status: response.status, body: (await response.json()) as { messages: unknown[] } }
  }

  test('session list --largest and session end', async () => {
    const { email, token } = await create('ended')
    expect(await mail(email)).toBe(250)
    expect((await check(token)).status).toBe(200)
    const listed = mayfly('session', 'list', '--largest', '--limit', '1', '--json')
    expect(listed).toMatchObject({ status: 0, stderr: '' })
    expect(JSON.parse(listed.stdout)).toHaveLength(1)
    expect(listed.stdout).not.toContain(token)
    const ended = mayfly('session', 'end', email)
    expect((await check(token)).status).toBe(401)
    expect(ended).toEqual({
      status: 0,
      stdout: `Ended the session for ended@box.test. 1 message (${MAIL.length} bytes) can no longer be read.\n`,
      stderr: '',
    })
  })

  test('mail delete --from-ip shows its progress and the number of deleted mails', async () => {
    const { email, token } = await create('cleared')
    expect(await mail(email)).toBe(250)
    expect(await mail('abuse@box.test')).toBe(250)
    expect((await check(token)).body.messages).toHaveLength(1)
    const { status, stdout, stderr } = mayfly('mail', 'delete', '--from-ip', '::ffff:127.0.0.1')
    expect((await check(token)).body.messages).toHaveLength(0)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^Deleted \d+ messages \(.*\) from 127\.0\.0\.1: \d+ in \d+ session/)
    expect(stderr).toMatch(/^Examining \d+ of \d+ rows$/m)
  })

  test('inbox --operator --delete accepts a listed id, and --all', async () => {
    for (let sent = 0; sent < 3; sent += 1) expect(await mail('abuse@box.test')).toBe(250)
    const { stdout } = mayfly('inbox', '--operator')
    const [, id = ''] = /^Id: +(\d+)$/m.exec(stdout) ?? []
    expect(mayfly('inbox', '--operator', '--delete', id).stdout).toBe(
      `Deleted 1 message (${MAIL.length} bytes) for postmaster and abuse.\n`,
    )
    expect(mayfly('inbox', '--operator', '--delete', '--all').stdout).toBe(
      `Deleted 2 messages (${2 * MAIL.length} bytes) for postmaster and abuse.\n`,
    )
  })
})

describe('mayfly domain', () => {
  test('changes the domains of the running service, and ids never change', async () => {
    expect(mayfly('domain', 'add', 'new.test').stdout).toMatch(/^Added new\.test \(id 3\)\.$/m)
    await waitUntil(async () => (await offered()).includes('new.test'))
    expect(mayfly('domain', 'deactivate', 'new.test').status).toBe(0)
    await waitUntil(async () => !(await offered()).includes('new.test'))
    expect(run(SOURCE, ['domain', 'remove', 'new.test']).status).toBe(0)
    expect(mayfly('domain', 'add', 'new.test').stdout).toMatch(/\(id 3\)\.$/m)
    await waitUntil(async () => (await offered()).includes('new.test'))
  })

  // Others: src/cli/commands.test.ts.
  test('an invalid command line ends with status 2 and one clear line', () => {
    const result = mayfly('domain', 'list', '--jsn')
    const line = expect.stringContaining("unknown option '--jsn'")
    expect(result).toMatchObject({ status: 2, stdout: '', stderr: line })
    expect(result.stderr).not.toMatch(/\n {4}at /)
  })
})

describe('mayfly', () => {
  test('a command refuses to run against the data of an older version, with one clear line', async () => {
    const at = { store: 'sqlite:', data: folder.path }
    const current = await setSchemaVersion(at, 'mail', 1)
    const result = mayfly('domain', 'list')
    await setSchemaVersion(at, 'mail', current)
    expect(result).toEqual({
      status: 1,
      stdout: '',
      stderr: 'The running service is an older version. Restart it first.\n',
    })
  })

  test('config shows the source of each value', () => {
    const { status, stdout } = run(SOURCE, ['config', '--json'])
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({
        name: 'MAYFLY_HTTP_PORT',
        value: String(served.httpPort),
        origin: 'environment',
      }),
    )
  })
})
