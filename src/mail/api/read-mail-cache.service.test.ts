import assert from 'node:assert/strict'
import { beforeAll, onTestFinished, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
import { post, request } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import type { SenderChecks } from '../../shared/mail.ts'
import { mailWith, WAIT_FOREVER } from '../testing/codes.ts'

// A message that is read again comes from memory. What must not come from there:

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

/** A message that has been read often enough to be cached. */
async function readMessage(url = app.url, mail: (to: string) => Promise<unknown> = app.mail) {
  const { email, token } = (await post(`${url}/api/create-session`, {})).body as {
    email: string
    token: string
  }
  await mail(email)
  const list = await request(`${url}/api/check-mail?token=${token}`)
  const [{ id } = { id: 0 }] = list.body['messages'] as { id: number }[]
  const read = (more = '', by = token) =>
    request(`${url}/api/read-mail?token=${by}&id=${id}${more}`)
  for (let count = 0; count < 3; count += 1) assert.equal((await read()).status, 200)
  return { email, token, id, read }
}

test('header fields that were requested before, or not', async () => {
  const { read } = await readMessage()
  for (const more of ['', '&headers=1', '', '&headers=1']) {
    const { message } = (await read(more)).body as { message: object }
    assert.equal('headers' in message, more !== '')
  }
})

test('a message that its owner has deleted', async () => {
  const { token, id, read } = await readMessage()
  await post(`${app.url}/api/delete-mail`, { token, id: String(id) })
  assert.equal((await read()).body['code'], 'message_not_found')
})

test('a message of another session', async () => {
  const { read } = await readMessage()
  const stranger = await app.session()
  assert.equal((await read('', stranger.token)).body['code'], 'message_not_found')
})

test('a message of a session that its owner has ended', async () => {
  const { token, read } = await readMessage()
  await post(`${app.url}/api/delete-session`, { token })
  assert.equal((await read()).body['code'], 'invalid_token')
})

test('a message of a session that has expired', async () => {
  const { read } = await readMessage()
  app.moveClock(30 * 86_400)
  assert.equal((await read()).body['code'], 'session_expired')
})

test('sender checks that are not conclusive', async () => {
  const conclusive: SenderChecks = { spf: 'pass', dkim: 'none', dmarc: 'fail' }
  let checks: SenderChecks | undefined
  let runs = 0
  const server = await openTestServer({
    parse: async () => mailWith('111111'),
    async senderChecks() {
      runs += 1
      return checks
    },
    resultWaitMs: WAIT_FOREVER,
  })
  onTestFinished(() => server.stop())
  const { read } = await readMessage(server.url, server.mail)
  const auth = async () => ((await read()).body['message'] as { auth: unknown }).auth
  assert.equal(await auth(), null)
  checks = { ...conclusive, spf: 'temperror' }
  assert.deepEqual(await auth(), checks)
  checks = conclusive
  assert.deepEqual(await auth(), conclusive)
  const runsBefore = runs
  assert.deepEqual(await auth(), conclusive)
  assert.equal(runs, runsBefore, 'the cached message is not checked again')
})
