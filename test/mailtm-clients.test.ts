import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { fromNpm } from './kit/programs/npm.ts'

// Clients of mail.tm from npm, unchanged: only their base URL is set.

let app: App
let folder: string
beforeAll(async () => {
  const others = ['mail.tm@0.0.5', 'node-fetch@2.7.0']
  const file = fromNpm('@cemalgnlts/mailjs', '3.1.2', 'dist/mailjs.mjs', others)
  folder = resolve(file, '../../../../..')
  app = await startApp({ env: { MAYFLY_DOORS: 'mailtm' } })
}, 300_000)
afterAll(() => app.stop())

/** Runs a module beside the packages, with `baseUrl`; its `print` is the result. Mail is sent to the address that it prints first. */
async function run(name: string, steps: { first: string; second: string }) {
  const program = (step: string, input: object) => `
    const input = ${JSON.stringify({ ...input, baseUrl: `${app.url}/compat/mailtm` })}
    const print = (value) => process.stdout.write(JSON.stringify(value))
    ${step}`
  const path = join(folder, `${name}.mjs`)
  const output = async (step: string, input: object) => {
    writeFileSync(path, program(step, input))
    const { stdout } = await promisify(execFile)(process.execPath, [path])
    return JSON.parse(stdout) as Record<string, unknown>
  }
  const opened = await output(steps.first, {})
  expect(await app.mail(String(opened['address']))).toBe(250)
  return await output(steps.second, opened)
}

test('@cemalgnlts/mailjs: from an account to its deletion', async () => {
  const client = `
    import Mailjs from '@cemalgnlts/mailjs'
    const client = new Mailjs()
    client.baseUrl = input.baseUrl`
  const result = await run('mailjs', {
    first: `${client}
      const { data } = await client.createOneAccount()
      const taken = await client.register(data.username, 'other')
      print({ address: data.username, password: data.password, taken: [taken.statusCode, taken.message] })`,
    second: `${client}
      const wrong = await client.login(input.address, 'wrong')
      await client.login(input.address, input.password)
      const me = await client.me()
      const again = await client.loginWithToken(client.token)
      const domains = await client.getDomains()
      const domain = await client.getDomain(domains.data[0].id)
      const listed = await client.getMessages()
      const [{ id }] = listed.data
      const message = await client.getMessage(id)
      const seen = await client.setMessageSeen(id)
      const source = await client.getSource(id)
      const deleted = await client.deleteMessage(id)
      const gone = await client.getMessage(id)
      const ended = await client.deleteMe()
      print({
        taken: input.taken,
        wrong: [wrong.statusCode, wrong.message],
        address: [me.data.address, again.data.address],
        domain: domain.data.domain,
        subjects: listed.data.map(({ subject }) => subject),
        text: message.data.text,
        seen: seen.data.seen,
        source: source.data.data,
        statuses: [deleted.statusCode, gone.statusCode, ended.statusCode],
      })`,
  })
  const address = (result['address'] as string[])[0]
  expect(result).toStrictEqual({
    taken: [422, 'address: This value is already used.'],
    wrong: [401, 'Invalid credentials.'],
    address: [address, address],
    domain: 'box.test',
    subjects: ['Hello'],
    text: expect.stringContaining('123456'),
    seen: true,
    source: expect.stringContaining('Subject: Hello'),
    statuses: [204, 404, 204],
  })
})

test('mail.tm: from an account to a message', async () => {
  const client = `
    import MailClient from 'mail.tm'
    const client = new MailClient()
    client.baseURL = input.baseUrl`
  const result = await run('mail.tm', {
    first: `${client}
      const { data } = await client.generateAccount('box.test')
      print({ address: data.username, password: data.password })`,
    second: `${client}
      const wrong = await client.login(input.address, 'wrong')
      await client.login(input.address, input.password)
      const account = await client.fetch(client.id)
      const listed = await client.fetchMessages()
      const [{ id }] = listed.data
      const message = await client.fetchMessage(id)
      const seen = await client.read(id)
      const source = await client.getSource(id)
      const deleted = await client.deleteMessage(id)
      print({
        wrong: [wrong.status, wrong.message],
        isOwn: account.data.address === input.address,
        from: message.data.from,
        seen: seen.data.seen,
        source: source.data.data,
        deleted: deleted.status,
        left: (await client.fetchMessages()).data,
      })`,
  })
  expect(result).toStrictEqual({
    wrong: [false, 'Invalid credentials.'],
    isOwn: true,
    from: { address: 'ann@sender.test', name: 'Ann Sender' },
    seen: true,
    source: expect.stringContaining('Subject: Hello'),
    deleted: true,
    left: [],
  })
})
