import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, test } from 'vitest'
import { checkMail, rawMail } from './support/api-client.ts'
import { type App, startApp } from './support/app.ts'
import { corpus } from './support/corpora.ts'
import { connectSmtp } from './support/smtp-client.ts'

let app: App
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.stop())

for (const name of ['stalwart', 'postal-mime'] as const) {
  const folder = corpus(name)

  test(`every mail of ${name} is returned byte for byte, and can be listed and read`, async () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const mails = files.filter((file) => file.endsWith('.eml'))
    assert.ok(mails.length >= 5)
    const box = await app.session()
    const client = await connectSmtp(app.smtpPort)
    for (const file of mails) {
      const raw = withFinalLine(readFileSync(`${folder}/${file}`))
      assert.equal((await client.send({ to: [box.email], raw })).code, 250, file)
      const [newest] = await checkMail(app.url, box.token, '&limit=1')
      const id = newest?.id ?? 0
      assert.ok((await rawMail(app.url, box.token, id)).equals(raw), `${file} came back changed`)
      const read = await fetch(`${app.url}/api/read-mail?token=${box.token}&id=${id}`)
      const { message } = (await read.json()) as { message: Record<string, unknown> }
      assert.equal(read.status, 200, file)
      assert.equal(message['size'], raw.length)
      assert.equal(typeof message['body_text'], 'string', `${file} has a text`)
    }
    client.close()
  })
}

/** SMTP cannot transfer a mail whose last line has no line ending. */
function withFinalLine(raw: Buffer): Buffer {
  return raw.subarray(-2).equals(Buffer.from('\r\n'))
    ? raw
    : Buffer.concat([raw, Buffer.from('\r\n')])
}
