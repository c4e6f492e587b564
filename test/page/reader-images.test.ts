import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDnsServer } from '../kit/dns/dns-server.ts'
import { checkColours } from '../kit/page/contrast.ts'
import { opener, waitForInbox } from '../kit/page/inbox.ts'
import { htmlMail, png, textMail } from '../kit/page/mails.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'
import { connectSmtp } from '../kit/smtp/smtp-client.ts'

const dns = await openDnsServer({
  'TXT sender.test': ['v=spf1 ip4:127.0.0.1 -all'],
  'TXT _dmarc.sender.test': ['v=DMARC1; p=reject'],
  'TXT evil.test': ['v=spf1 ip4:127.0.0.1 -all'],
})
const visits = openPages({ MAYFLY_AUTH_CHECKS: 'on', MAYFLY_DNS: dns.server })

/** The host of all remote images, and the requests it received. */
let images: Server
let requests: ImageRequest[] = []
interface ImageRequest {
  path: string
  headers: IncomingHttpHeaders
}
beforeAll(async () => {
  images = createServer(({ url = '', headers }, response) => {
    requests.push({ path: url, headers })
    if (url.startsWith('/hanging')) return
    response.setHeader('content-type', 'image/png').end(png(30, 20, [200, 30, 30]))
  })
  await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  images.closeAllConnections()
  await new Promise((resolve) => images.close(resolve))
  await dns.close()
})
beforeEach(() => {
  requests = []
})

// Not the host of the page, whose images are never loaded.
const origin = () => `http://images.localhost:${(images.address() as AddressInfo).port}`
const paths = () => [...new Set(requests.map(({ path }) => path))].sort()

function mailWithImages(name: string, from = 'Ann <ann@sender.test>'): string {
  return htmlMail(
    `<img src="${origin()}/${name}-1.png" alt="One"><table background="${origin()}/${name}-2.png"><tr><td>x</td></tr></table>
     <p style="background:url(' ${origin().replace('http', 'HTTP')}/${name}-3.png')">The end of ${name}</p>`,
    { subject: name, from },
  )
}

async function send(to: string, raw: string, from = 'ann@sender.test'): Promise<void> {
  const client = await connectSmtp(visits.app().smtpPort)
  expect((await client.send({ to: [to], raw, from })).code).toBe(250)
  client.close()
}

/** Opens a mail and waits until it is displayed and its sender is checked. */
async function open(page: Page, name: string, badge = 'Verified: sender.test'): Promise<void> {
  await opener(page, name).click()
  await page.getByRole('article', { name }).getByText(badge).waitFor()
  await page.frameLocator('.mail-frame').getByText(`The end of ${name}`).waitFor()
}

/** Resolves when all three images of this mail have been requested. */
async function waitForImages(name: string): Promise<void> {
  while (paths().filter((path) => path.startsWith(`/${name}-`)).length < 3) {
    await once(images, 'request')
  }
}

test('remote images are blocked and counted, loaded on request without cookies or a referrer, and always for an authenticated sender, until this is turned off', async () => {
  visits.allow({ origin: origin() })
  const page = await visits.visit('/')
  const { email } = await waitForInbox(page)
  await send(email, mailWithImages('first'))
  await send(email, mailWithImages('second'))
  await open(page, 'first')
  const blocked = page.getByText('3 remote images blocked')
  await blocked.waitFor()
  expect(paths()).toStrictEqual([])

  await page.getByRole('button', { name: 'Load once' }).click()
  await waitForImages('first')
  const picture = page.frameLocator('.mail-frame').getByRole('img', { name: 'One' })
  await picture.waitFor()
  await expect.poll(async () => (await picture.boundingBox())?.width).toStrictEqual(30)
  // Also by the copies of the message that are printed.
  await page.locator('.print-copy.ready').waitFor({ state: 'attached' })
  await page.evaluate(`
    printed = false
    document.addEventListener('load', ({ target }) => {
      if (target.contentDocument) target.contentWindow.print = () => { printed = true }
    }, true)
    dispatchEvent(new Event('beforeprint'))
  `)
  await page.getByRole('button', { name: 'Print' }).click()
  await expect.poll(() => page.evaluate('printed')).toBe(true)
  expect(paths()).toStrictEqual(['/first-1.png', '/first-2.png', '/first-3.png'])
  for (const { headers } of requests) {
    expect(headers.referer).toBeUndefined()
    expect(headers.cookie).toBeUndefined()
    expect(!headers.origin || headers.origin === 'null').toBeTruthy()
  }
  await open(page, 'second')
  await blocked.waitFor()
  expect(paths().length).toBe(3)

  await page.getByRole('button', { name: 'Always load for ann@sender.test' }).click()
  await waitForImages('second')
  await page.reload()
  await send(email, mailWithImages('third'))
  await open(page, 'third')
  await page.getByText('Remote images from ann@sender.test are always loaded').waitFor()
  await waitForImages('third')
  const stored = () => page.evaluate(`localStorage.getItem('mayfly images')`)
  await expect.poll(() => stored()).toBe('["ann@sender.test"]')

  // Not for one who only uses the name of that sender.
  await send(email, mailWithImages('forged'), 'eve@evil.test')
  await open(page, 'forged', 'May not be from sender.test')
  await blocked.waitFor()
  await page.getByTitle('must be verified').waitFor()
  expect(await page.getByRole('button', { name: /^Always/ }).count()).toBe(0)

  await open(page, 'third')
  await page.getByRole('button', { name: 'Stop loading' }).click()
  await blocked.waitFor()
  await expect.poll(() => stored()).toBe(null)
  expect(paths().filter((path) => path.startsWith('/forged'))).toStrictEqual([])
})

test('a mail with an image that hangs is scaled to fit a touch screen, and can be printed after some seconds', async () => {
  // The script of the clock does not run in the frames.
  visits.allow({ origin: origin(), complaint: /^Blocked script execution in 'about:srcdoc'/ })
  const page = await visits.visitWithClock('/', { hasTouch: true })
  const { email } = await waitForInbox(page)
  await send(email, mailWithImages('known'))
  await open(page, 'known')
  await page.getByRole('button', { name: 'Always load for ann@sender.test' }).click()
  await waitForImages('known')
  const html = `<table width="1000"><tr><td>The end of hanging</td></tr></table><img src="${origin()}/hanging.png" width="30">`
  await send(email, htmlMail(html, { subject: 'hanging', from: 'Ann <ann@sender.test>' }))
  await open(page, 'hanging')
  await page.locator('.mail-frame.scaled').waitFor()
  await page.clock.fastForward(5_000)
  await page.locator('.print-copy.ready').waitFor({ state: 'attached' })
  expect(paths()).toContain('/hanging.png')
})

describe('the sender', () => {
  test('is shown with the result of its checks and the reason', async () => {
    const page = await visits.visit('/')
    const { email } = await waitForInbox(page)
    for (const [subject, badge, from, why, envelope] of [
      [
        'right',
        'Verified: sender.test',
        'ann@sender.test',
        'sender.test confirmed that it sent this message',
        'ann@sender.test',
      ],
      [
        'forged',
        'May not be from sender.test',
        'ann@sender.test',
        'This message failed sender.test’s sender checks',
        'eve@evil.test',
      ],
      [
        'unknown',
        'Unverified sender',
        'bob@nowhere.test',
        'Anyone could have sent this',
        'bob@nowhere.test',
      ],
      ['no author', 'Unverified sender', '', 'Anyone could have sent this', ''],
    ] as const) {
      await send(email, textMail('Hi.', { subject, from: `<${from}>` }), envelope)
      await opener(page, subject).click()
      const article = page.getByRole('article', { name: subject })
      await article.getByText(badge).click()
      await article.getByText(why).waitFor()
      // It is about the envelope domain, which the sender chooses.
      await article.getByText('Sending server allowed (SPF)').waitFor()
      await article.getByText('No signature').waitFor()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await (colorScheme === 'light' ? checkAccessibility : checkColours)(page, 'article')
      }
    }
  })

  test('is updated if the check takes longer than loading the mail, and not shown as being checked forever if checks are off', async () => {
    const page = await visits.visitWithClock('/')
    const { email } = await waitForInbox(page)
    let isEarly = true
    await page.route('**/api/read-mail?*', async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      if (isEarly) body.message.auth = null
      isEarly = false
      await route.fulfill({ response, json: body })
    })
    await send(email, textMail('Hi.', { subject: 'Slow', from: 'ann@sender.test' }))
    await opener(page, 'Slow').click()
    const checking = page.getByText('Checking the sender')
    await checking.waitFor()
    await page.clock.fastForward(10_000)
    await page.getByText('Verified: sender.test').waitFor()

    await page.unroute('**/api/read-mail?*')
    await page.route('**/api/read-mail?*', async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      body.message.auth = null
      await route.fulfill({ response, json: body })
    })
    await send(email, textMail('Hi.', { subject: 'Never', from: 'ann@sender.test' }))
    await opener(page, 'Never').click()
    await checking.waitFor()
    await page.clock.fastForward(10_000)
    await checking.waitFor({ state: 'detached' })
    const article = page.getByRole('article', { name: 'Never' })
    await article.getByText('ann@sender.test').first().waitFor()
  })
})
