import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { checkMail, rawMail } from './kit/http/api-client.ts'
import { corpus } from './kit/mail/corpora.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'

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
    expect(mails.length).toBeGreaterThanOrEqual(5)
    const box = await app.session()
    const client = await connectSmtp(app.smtpPort)
    for (const file of mails) {
      const raw = withFinalLine(readFileSync(`${folder}/${file}`))
      expect((await client.send({ to: [box.email], raw })).code, file).toBe(250)
      const [newest] = await checkMail(app.url, box.token, '&limit=1')
      const id = newest?.id ?? 0
      expect(
        (await rawMail(app.url, box.token, id)).equals(raw),
        `${file} came back changed`,
      ).toBeTruthy()
      const read = await fetch(`${app.url}/api/read-mail?token=${box.token}&id=${id}`)
      const { message } = (await read.json()) as { message: Record<string, unknown> }
      expect(read.status, file).toBe(200)
      expect(message['size']).toBe(raw.length)
      expect(typeof message['body_text'], `${file} has a text`).toBe('string')
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
