import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { post, request } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
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
  for (let count = 0; count < 3; count += 1) expect((await read()).status).toBe(200)
  return { email, token, id, read }
}

test('header fields that were requested before, or not', async () => {
  const { read } = await readMessage()
  for (const more of ['', '&headers=1', '', '&headers=1']) {
    const { message } = (await read(more)).body as { message: object }
    expect('headers' in message).toBe(more !== '')
  }
})

test('a message that its owner has deleted', async () => {
  const { token, id, read } = await readMessage()
  await post(`${app.url}/api/delete-mail`, { token, id: String(id) })
  expect((await read()).body['code']).toBe('message_not_found')
})

test('a message of another session', async () => {
  const { read } = await readMessage()
  const stranger = await app.session()
  expect((await read('', stranger.token)).body['code']).toBe('message_not_found')
})

test('a message of a session that its owner has ended', async () => {
  const { token, read } = await readMessage()
  await post(`${app.url}/api/delete-session`, { token })
  expect((await read()).body['code']).toBe('invalid_token')
})

test('a message of a session that has expired', async () => {
  const { read } = await readMessage()
  app.moveClock(30 * 86_400)
  expect((await read()).body['code']).toBe('session_expired')
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
  expect(await auth()).toBe(null)
  checks = { ...conclusive, spf: 'temperror' }
  expect(await auth()).toStrictEqual(checks)
  checks = conclusive
  expect(await auth()).toStrictEqual(conclusive)
  const runsBefore = runs
  expect(await auth()).toStrictEqual(conclusive)
  expect(runs, 'the cached message is not checked again').toBe(runsBefore)
})
