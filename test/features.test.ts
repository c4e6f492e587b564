import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freeServicePorts, ROOT, spawnService } from './kit/app/service-process.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { copyWithout, withoutLines } from './kit/without-feature.ts'

// A feature is a folder of src, and a line in each list. The rest compiles and runs without it; its tables stay.

const FEATURES = ['gmail', 'shop', 'webhooks', 'blocks', 'doctor', 'admin', 'mcp', 'doors'] as const
const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const today = Math.floor(Date.now() / 86_400_000)
// In turn: each takes as long as all other checks of types.
const tested = LONG ? FEATURES : FEATURES.filter((_, at) => at === today % FEATURES.length)

for (const feature of tested) {
  test(`without ${feature}, the rest compiles, receives a mail and lists it`, async () => {
    const folder = tempFolder(DISK)
    onTestFinished(folder.remove)
    // The parser runs as another user.
    chmodSync(folder.path, 0o755)
    copyWithout(feature, folder.path)
    const compiled = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.'], {
      cwd: folder.path,
      encoding: 'utf8',
    })
    expect(compiled.stdout).toBe('')
    expect(compiled.status).toBe(0)

    const service = await spawnService({
      root: folder.path,
      folder: join(folder.path, 'data'),
      ports: await freeServicePorts(),
      command: [process.execPath, 'src/main.ts', 'serve'],
      env: { MAYFLY_ADMIN_TOKEN: 'x'.repeat(32), MAYFLY_DAILY_CHECKS: 'off' },
    })
    onTestFinished(async () => void (await service.kill('SIGKILL')))
    const created = await fetch(`${service.url}/api/create-session`, { method: 'POST' })
    const { email, token } = (await created.json()) as { email: string; token: string }
    const client = await connectSmtp(service.smtpPort)
    const { code } = await client.send({ to: [email], raw: 'Subject: Hello\r\n\r\nIt works.\r\n' })
    client.close()
    expect(code).toBe(250)
    const listed = await fetch(`${service.url}/api/check-mail?token=${token}`)
    expect(await listed.json()).toMatchObject({ messages: [{ subject: 'Hello' }] })
    expect(await service.kill('SIGTERM')).toBe(0)
  })
}

test('what names an import of a removed folder is removed, and nothing else', () => {
  const source = [
    "import { type Gone, goneRoutes } from '../gone/a.ts'",
    "import { kept } from '../kept/a.ts'",
    '',
    'export type Deps = Kept & Gone',
    '',
    'export interface All extends Kept, Gone {}',
    '',
    'export const list = {',
    '  ...kept,',
    '  ...goneRoutes,',
    '}',
  ].join('\n')
  expect(withoutLines(source, (target) => target.startsWith('../gone/')).split('\n')).toEqual([
    "import { kept } from '../kept/a.ts'",
    '',
    'export type Deps = Kept',
    '',
    'export interface All extends Kept {}',
    '',
    'export const list = {',
    '  ...kept,',
    '}',
  ])
})
