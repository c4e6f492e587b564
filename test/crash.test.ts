import { expect, test } from 'vitest'
import { freeServicePorts, spawnService } from './kit/app/service-process.ts'
import { createSession } from './kit/http/api-client.ts'
import { ledgerFaults, openLedger, sendUntilStopped } from './kit/store/ledger.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 20 : 2
const SENDERS = 8
const BOXES = 20

test('mail acknowledged with 250 is stored unchanged and exactly once after a SIGKILL', async () => {
  const folder = tempFolder(DISK)
  const ports = await freeServicePorts()
  const env = { MAYFLY_SESSION_MAX_MESSAGES: '100000', MAYFLY_SESSION_MAX_BYTES: '10GB' }
  const serve = () => spawnService({ folder: folder.path, ports, env })
  const ledger = openLedger(`${folder.path}/ledger`)
  let served = await serve()
  const boxes = await Promise.all(Array.from({ length: BOXES }, () => createSession(served.url)))

  let stopping = false
  const senders = Array.from({ length: SENDERS }, () =>
    sendUntilStopped(boxes, { smtpPort: ports.smtp, ledger, stopped: () => stopping }),
  )
  for (let round = 0; round < ROUNDS; round += 1) {
    await delay(200 + Math.random() * 800)
    await served.kill('SIGKILL')
    const before = Date.now()
    served = await serve()
    process.stdout.write(`round ${round + 1}: serving again after ${Date.now() - before} ms\n`)
  }
  stopping = true
  await Promise.all(senders)

  const lines = ledger.read()
  expect(lines.length, `the senders were busy: ${lines.length} mails`).toBeGreaterThan(100)
  expect(await ledgerFaults(served.url, boxes, lines)).toStrictEqual([])
  process.stdout.write(`${lines.length} acknowledged mails, all there\n`)
  expect(await served.kill('SIGTERM'), 'a polite stop ends with 0').toBe(0)
  ledger.close()
  folder.remove()
})

/** A random delay; it does not wait for anything in particular. */
function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
