import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, test } from 'vitest'
import { followAccounts } from './follow-accounts.ts'
import { type GmailScene, openGmailScene, rules } from './testing/gmail.ts'

const JOE = 'joe@gmail.com'
const ANN = 'ann@gmail.com'
const TEMPO = { lasts: 500, renew: 100, spare: 200, retry: 20, patience: 500 }

let scene: GmailScene
let ended: AbortController
let following: Promise<void>
/** Told in the order in which it happened. */
let deeds: string[]
let slow: PromiseWithResolvers<void>
beforeEach(async () => {
  scene = await openGmailScene(rules(JOE), rules(ANN))
  ended = new AbortController()
  deeds = []
  slow = Promise.withResolvers()
  following = followAccounts({
    ...scene.needs,
    open({ email }) {
      deeds.push(`open ${email}`)
      return {
        async close() {
          if (email === JOE) await slow.promise
          deeds.push(`close ${email}`)
        },
      }
    },
    ended: ended.signal,
    holder: 'us',
    tempo: TEMPO,
    log: { warn() {}, error: (facts, sentence) => assert.fail(`${sentence}: ${facts['err']}`) },
  })
})
afterEach(async () => {
  slow.resolve()
  ended.abort()
  await following
  await scene.close()
})

const turn = async (email: string, active: boolean) =>
  scene.needs.store.switchAccount(await scene.idOf(email), active)
const until = async (deed: string, times = 1) => {
  while (deeds.filter((one) => one === deed).length < times) await pause(5)
}

test('an account that closes slowly holds up no other, and is not opened twice', async () => {
  await until(`open ${ANN}`)
  await turn(JOE, false)
  await turn(ANN, false)
  await until(`close ${ANN}`)
  await turn(JOE, true)
  await turn(ANN, true)
  await until(`open ${ANN}`, 2)
  assert.equal(deeds.filter((deed) => deed === `open ${JOE}`).length, 1)
  slow.resolve()
  await until(`open ${JOE}`, 2)
})

test('the end closes them all', async () => {
  await until(`open ${ANN}`)
  slow.resolve()
  ended.abort()
  await following
  assert.deepEqual(deeds.toSorted(), [`close ${ANN}`, `close ${JOE}`, `open ${ANN}`, `open ${JOE}`])
})
