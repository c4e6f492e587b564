import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from './kit/app/service-process.ts'
import { program } from './kit/programs/programs.ts'
import { type AppWithKeys, startAppWithKeys } from './kit/shop/keys.ts'
import { tempFolder } from './kit/store/stores.ts'

const FOLDER = join(ROOT, 'clients/python')

let app: AppWithKeys
beforeAll(async () => {
  app = await startAppWithKeys({ env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' } })
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
  expect(Number(passed), output).toBeGreaterThanOrEqual(39)
})

test('the example of docs/clients.md starts the service and passes', async () => {
  const docs = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
  const [, example = ''] = /`test_mail\.py`:\n\n```python\n(.*?)```\n/s.exec(docs) ?? []
  const folder = tempFolder()
  writeFileSync(join(folder.path, 'test_mail.py'), example)
  const command = `mayfly_command='${process.execPath}' '${join(ROOT, 'bin/mayfly.js')}'`
  const args = ['--rootdir', folder.path, '-o', command, folder.path]
  const { status, output } = await pytest(args, { TMPDIR: folder.path })
  const left = readdirSync(folder.path).filter((name) => name.startsWith('mayfly-test-'))
  folder.remove()
  expect(status, output).toBe(0)
  expect(output).toMatch(/^2 passed in/m)
  expect(left).toStrictEqual([])
})

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
function pytest(args: string[], env: Record<string, string>) {
  const options = ['-q', '-p', 'mayfly_mail.pytest_plugin', '-p', 'no:cacheprovider']
  return new Promise<{ status: number; output: string }>((resolve) => {
    const child = execFile(
      program('pytest-3'),
      [...options, ...args],
      {
        cwd: FOLDER,
        env: { ...process.env, PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1', ...env },
      },
      (_error, stdout, stderr) => resolve({ status: child.exitCode ?? 1, output: stdout + stderr }),
    )
  })
}
