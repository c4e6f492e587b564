import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isProblem } from '../../test/kit/http/problem.ts'
import { CommandError } from '../cli/output.ts'
import { readConfig } from '../runtime/config.ts'
import { addWebhookCommands } from './commands.ts'
import { openWebhookFixture, type WebhookFixture } from './testing/fixture.ts'

let fixture: WebhookFixture
let keyId: string
beforeEach(async () => {
  fixture = await openWebhookFixture()
  keyId = (await fixture.issue()).id
})
afterEach(() => fixture.close())

/** What the command prints. */
async function mayfly(...args: string[]): Promise<string> {
  const lines: string[] = []
  const webhook = new Command('webhook').exitOverride()
  const { store, shop, now } = fixture.deps
  const { config } = readConfig({ env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' }, file: {} })
  const context = {
    config: () => config,
    withMail: (run: (mail: typeof store) => Promise<void>) => run(store),
    withShop: (run: (keys: typeof shop) => Promise<void>) => run(shop),
    now,
    randomBytes,
  }
  addWebhookCommands(webhook, context, (line) => void lines.push(line))
  await webhook.parseAsync(args, { from: 'user' })
  return lines.join('\n')
}

async function added(...more: string[]): Promise<{ id: string; secret: string }> {
  return JSON.parse(await mayfly('add', keyId, fixture.receiver.url, '--json', ...more))
}

test('without webhooks, list says so', async () => {
  expect(await mayfly('list')).toBe('No webhooks yet.')
  expect(await mayfly('list', '--json')).toBe('[]')
})

test('add prints the secret once; list and show do not', async () => {
  const text = await mayfly('add', keyId, fixture.receiver.url, '--to', 'any@pool.test')
  expect(text).toMatch(/^Secret +whsec_\S{44}$/m)
  expect(await mayfly('list')).toMatch(/^wh_\w+ +mf_live_\w{4} +active +http:\/\/127/m)
  const [{ id }] = JSON.parse(await mayfly('list', '--json'))
  const shown = await mayfly('show', id)
  expect(shown).toMatch(/^To +any@pool.test$/m)
  expect(shown).not.toContain('whsec_')
})

test('show lists the attempts, and what it waits for', async () => {
  const { id } = await added('--since', '0')
  await fixture.send('1')
  fixture.receiver.state.behaviour = 503
  await fixture.run(id)
  const shown = await mayfly('show', id)
  expect(shown).toMatch(/^State +failing \(status_503\)$/m)
  expect(shown).toMatch(/^Next attempt +2026-03-01 12:00:05 UTC$/m)
  expect(shown).toMatch(/^TIME \(UTC\) +MESSAGE +ATTEMPT +RESULT +DURATION$/m)
  expect(shown).toMatch(/^2026-03-01 12:00:00 +\d+ +1 +status_503 +\d+ ms$/m)
  const { state, deliveries } = JSON.parse(await mayfly('show', id, '--json'))
  expect([state, deliveries.length, deliveries[0].status]).toEqual(['failing', 1, 503])
})

test('list fits 100 columns, whatever the URL and the reason', async () => {
  const { id } = await added('--since', '0')
  await fixture.send('1')
  fixture.receiver.state.behaviour = 503
  await fixture.run(id)
  await mayfly('add', keyId, `https://8.8.8.8/${'path/'.repeat(100)}`)
  const lines = (await mayfly('list')).split('\n')
  expect(lines.filter((line) => line.length > 100)).toEqual([])
  expect(lines.filter((line) => / failing +status_503 +http:\S+$/.test(line))).toHaveLength(1)
  expect(lines.filter((line) => / active +https:\S+…$/.test(line))).toHaveLength(1)
})

describe('a webhook', () => {
  test('is tested', async () => {
    const { id } = await added()
    expect(await mayfly('test', id)).toMatch(/^status_200 after \d+ ms$/)
    expect(fixture.receiver.received[0]?.event.type).toBe('webhook.test')
  })

  test('is replayed, rolled, enabled and deleted', async () => {
    const { id, secret } = await added('--since', '0')
    await fixture.send('1')
    await fixture.run(id)
    await mayfly('replay', id, '--since', '0')
    await fixture.run(id)
    expect(fixture.receiver.subjects()).toEqual(['1', '1'])
    const rolled = await mayfly('roll', id)
    expect(rolled).toMatch(/^Secret +whsec_/)
    expect(rolled).toMatch(/^Old secret +valid until 2026-03-02 12:00:00 UTC;/m)
    expect(rolled).not.toContain(secret)
    expect(await mayfly('enable', id)).toBe(`Enabled ${id}.`)
    expect(await mayfly('delete', id)).toBe(`Deleted ${id}.`)
    expect(await mayfly('list', '--json')).toBe('[]')
  })

  test('that does not exist, a wrong key or a wrong id is refused', async () => {
    await expect(mayfly('show', 'wh_none')).rejects.toSatisfy(isProblem('webhook_not_found'))
    await expect(mayfly('add', 'nobody', 'https://8.8.8.8/')).rejects.toThrow(CommandError)
    const { id } = await added()
    await expect(mayfly('replay', id, '--since', 'x')).rejects.toThrow(CommandError)
    await expect(mayfly('add', keyId, 'https://10.0.0.1/')).rejects.toSatisfy(
      isProblem('not_allowed'),
    )
  })
})
