import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { ask, post } from '../../../test/ask.ts'
import { type Door, openDoor } from '../../../test/http-server.ts'
import type { Link, SenderChecks } from '../../core/message.ts'
import { IMPATIENT, mailWith, PATIENT } from '../../service/testing/codes.ts'

let door: Door
afterEach(() => door.stop())

/** What read-mail gives of one mail. */
async function messageWith(options: Parameters<typeof openDoor>[0]) {
  door = await openDoor(options)
  const made = await post(`${door.url}/api/create-session`, {})
  const { email, token } = made.body as { email: string; token: string }
  await door.mail(email)
  const { body } = await ask(`${door.url}/api/check-mail?token=${token}`)
  const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
  const read = await ask(`${door.url}/api/read-mail?token=${token}&id=${id}`)
  assert.equal(read.status, 200)
  return read.body['message'] as Record<string, unknown>
}

const LINK: Link = {
  url: 'https://sender.test/verify?t=1',
  text: 'Confirm',
  host: 'sender.test',
  kind: 'verify',
}
const CHECKS: SenderChecks = { spf: 'pass', dkim: 'none', dmarc: 'fail' }
const parse = async () => ({ ...mailWith('111111'), links: [LINK] })

describe('200', () => {
  test('codes and links as they were found, the best code as in the list', async () => {
    const { code, codes, links } = await messageWith({ parse, patienceMs: PATIENT })
    assert.equal(code, '111111')
    assert.deepEqual(codes, [{ value: '111111', kind: 'digits', confidence: 1 }])
    assert.deepEqual(links, [LINK])
  })

  test('the code is there also when the list came too early for it', async () => {
    assert.equal((await messageWith({ parse, patienceMs: IMPATIENT }))['code'], '111111')
  })

  for (const [name, senderChecks, patienceMs, auth] of [
    ['that were made', async () => CHECKS, PATIENT, CHECKS],
    ['that could not be made', async () => undefined, PATIENT, null],
    ['that take too long', () => new Promise<never>(() => {}), IMPATIENT, null],
  ] as const) {
    test(`sender checks ${name}`, async () => {
      const message = await messageWith({ parse, senderChecks, patienceMs })
      assert.deepEqual(message['auth'], auth)
    })
  }

  test('sender checks are asked for with the message that is read', async () => {
    const asked: number[] = []
    const senderChecks = async ({ id }: { id: number }) => {
      asked.push(id)
      return undefined
    }
    const { id } = await messageWith({ parse, senderChecks })
    assert.deepEqual([...new Set(asked)], [id])
  })
})
