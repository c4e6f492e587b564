import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from './kit/app/service-process.ts'
import { program } from './kit/programs/programs.ts'
import { type AppWithKeys, startAppWithKeys } from './kit/shop/keys.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

const FOLDER = join(ROOT, 'clients/python')
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

let app: AppWithKeys
beforeAll(async () => {
  app = await startAppWithKeys({
    env: {
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.1',
      MAYFLY_OWN_DOMAINS: 'keys',
      MAYFLY_DNS: '127.0.0.1:9',
    },
  })
})
afterAll(() => app.stop())

test('the tests of the Python client pass', async () => {
  const { secret } = await app.ring.issue()
  const { status, output } = await pytest(['tests'], {
    MAYFLY_URL: app.url,
    SMTP_PORT: String(app.smtpPort),
    MAYFLY_API_KEY: secret,
    WEBHOOK: JSON.stringify(signedWebhook()),
  })
  expect(status, output).toBe(0)
  const [, passed] = /^(\d+) passed in/m.exec(output) ?? []
  expect(Number(passed), output).toBeGreaterThanOrEqual(42)
})

test('the example of docs/clients.md starts the service and passes', async () => {
  const docs = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
  const [, example = ''] = /`test_mail\.py`:\n\n```python\n(.*?)```\n/s.exec(docs) ?? []
  const folder = tempFolder()
  writeFileSync(join(folder.path, 'test_mail.py'), example)
  const args = [...startsService(folder.path), folder.path]
  const { status, output } = await pytest(args, { TMPDIR: folder.path })
  const left = dataFolders(folder.path)
  folder.remove()
  expect(status, output).toBe(0)
  expect(output).toMatch(/^2 passed in/m)
  expect(left).toStrictEqual([])
})

test.runIf(LONG)('a run that is killed leaves neither its service nor its data', async () => {
  const folder = tempFolder()
  const lines = [
    'import os',
    'def test_it(mayfly_service):',
    '    open("url", "w").write(mayfly_service.url)',
    '    os.kill(os.getpid(), 9)',
  ]
  writeFileSync(join(folder.path, 'test_it.py'), lines.join('\n'))
  await pytest([...startsService(folder.path), folder.path], { TMPDIR: folder.path }, folder.path)
  const url = readFileSync(join(folder.path, 'url'), 'utf8')
  await waitUntil(() => dataFolders(folder.path).length === 0)
  await expect(fetch(url)).rejects.toThrow()
  folder.remove()
})

/** Of services that pytest has started. */
const dataFolders = (folder: string) =>
  readdirSync(folder).filter((name) => name.startsWith('mayfly-test-'))

function startsService(rootdir: string): string[] {
  const command = `mayfly_command='${process.execPath}' '${join(ROOT, 'bin/mayfly.js')}'`
  return ['--rootdir', rootdir, '-o', command]
}

function signedWebhook() {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const body = JSON.stringify({ type: 'message.received', data: { id: 1, subject: 'Grüße' } })
  const now = new Date()
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
  }
  return { body, headers, secret }
}

/** Debian's, with its Python; the client is not installed, so its plugin is named. */
function pytest(args: string[], env: Record<string, string>, cwd = FOLDER) {
  const options = ['-q', '-p', 'mayfly_mail.pytest_plugin', '-p', 'no:cacheprovider']
  return new Promise<{ status: number; output: string }>((resolve) => {
    const child = execFile(
      program('pytest-3'),
      [...options, ...args],
      {
        cwd,
        env: { ...process.env, PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1', ...env },
      },
      (_error, stdout, stderr) => resolve({ status: child.exitCode ?? 1, output: stdout + stderr }),
    )
  })
}
