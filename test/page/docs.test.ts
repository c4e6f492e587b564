import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DESKTOP, PHONE, SCREENS } from '../kit/page/browser.ts'
import { storeMailboxes } from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'
import { openConsole, tryCall } from '../kit/page/views/docs.ts'
import { program } from '../kit/programs/programs.ts'
import { type KeyRing, openKeyRing } from '../kit/shop/keys.ts'

const { app, visit, newTab, allow } = openPages()
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(app())
})
afterAll(() => ring.close())

// Each screen and each mode once: the links are the same HTML with and without the script.
for (const { name, ...viewport } of SCREENS) {
  const javaScriptEnabled = name === 'phone'
  const way = javaScriptEnabled ? 'with' : 'without'
  test(`each link of the contents leads to its section on a ${name}, ${way} JavaScript`, async () => {
    const page = await visit('/docs', { viewport, javaScriptEnabled })
    const boxes = javaScriptEnabled ? [] : await boxesOf(page)
    expect(await page.getByRole('navigation', { name: 'Contents' }).isVisible()).toBeTruthy()
    // By its class from here on: looking for a role in the whole document takes long.
    const contents = page.locator('.contents')
    if (name === 'phone') await contents.locator('summary').click()
    const links = contents.getByRole('link')
    const targets = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    expect(targets.length).toBeGreaterThan(20)
    const ids = await page.locator('[id]').evaluateAll((all) => all.map(({ id }) => `#${id}`))
    for (const [at, target] of targets.entries()) {
      expect(ids.filter((id) => id === target).length, target ?? '').toBe(1)
      // Clicks take long.
      if (!target || at % 10 > 0) continue
      await links.nth(at).click()
      const isInSight = async () => {
        const box = await page.locator(target).boundingBox()
        return box && box.y < viewport.height && box.y + box.height > 0
      }
      await expect.poll(isInSight, { message: `${target} is in sight` }).toBe(true)
      await expect.poll(() => new URL(page.url()).hash).toBe(target)
    }
    if (name === 'desktop') await assertInSight(contents)
    if (name === 'phone') await assertUnbroken(page)
    if (javaScriptEnabled) return
    await assertComplete(page)
    const scripted = await visit('/docs', { viewport })
    await scripted.locator('[data-call="GET /metrics"]').getByRole('button').waitFor()
    expect(await boxesOf(scripted), 'the layout shifts when the script runs').toStrictEqual(boxes)
  })
}

/** On a wide screen the contents stay visible. */
async function assertInSight(contents: Locator): Promise<void> {
  expect(await contents.getByRole('link', { name: 'First steps' }).isVisible()).toBeTruthy()
  const box = await contents.boundingBox()
  expect(box && box.y >= 0 && box.y < 100).toBeTruthy()
}

/** Commands scroll in their box: no line is broken, and the page is not wider than the screen. */
async function assertUnbroken(page: Page): Promise<void> {
  const commands =
    (await page.evaluate(`[...document.querySelectorAll('pre:not(.sample) > code')].filter((code) => code.checkVisibility()).map((code) => {
    const range = document.createRange()
    range.selectNodeContents(code)
    const rows = new Set([...range.getClientRects()].map(({ y }) => Math.round(y)))
    return [rows.size, code.textContent.trimEnd().split('\\n').length]
  })`)) as [rows: number, lines: number][]
  expect(commands.length).toBeGreaterThan(0)
  for (const [rows, lines] of commands) expect(rows).toBe(lines)
  const [button, code] = await Promise.all(
    ['> div', 'code'].map((part) => page.locator(`.example .curl ${part}`).first().boundingBox()),
  )
  const end = (button?.y ?? 0) + (button?.height ?? 0)
  expect(code?.y, 'the copy button covers a line').toBeGreaterThanOrEqual(end - 1)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
}

/** Without JavaScript the whole reference is shown, without controls that need scripts. */
async function assertComplete(page: Page): Promise<void> {
  expect(await page.getByRole('heading', { name: 'First steps' }).isVisible()).toBeTruthy()
  expect(await page.getByRole('heading', { name: 'Read mail with a key' }).isVisible()).toBeTruthy()
  expect(await page.getByRole('button').count()).toBe(0)
  const example = page.locator('#create-session .example')
  await example.getByRole('radio', { name: 'Python' }).check()
  expect(await example.getByText('mayfly.create_mailbox(').isVisible()).toBeTruthy()
  expect(await example.getByText('mayfly.createMailbox(').isVisible()).toBeFalsy()
}

/** Where some elements of the whole page are. */
async function boxesOf(page: Page) {
  const places = ['h1', '#create-session', '#list-emails', '#errors']
  return await Promise.all(places.map((place) => page.locator(place).boundingBox()))
}

const send = (form: Locator) => form.getByRole('button', { name: 'Send' }).click()

async function answerOf(form: Locator): Promise<Record<string, unknown>> {
  const responseRegion = form.getByRole('region', { name: 'Response' })
  await responseRegion.locator('pre').first().waitFor()
  return JSON.parse((await responseRegion.locator('pre').first().textContent()) ?? '')
}

test('every sample has a button that copies it; the console shows errors unchanged, creates a session, stops a pending request, shows it as a curl command, and asks before it deletes', async () => {
  allow({ complaint: /400/ })
  const permissions = ['clipboard-read', 'clipboard-write']
  const page = await visit('/docs', { viewport: DESKTOP, permissions })
  const [first] = await page.locator('.copyable').all()
  await first?.getByRole('button', { name: 'Copy' }).click()
  await first?.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  expect(copied).toContain(`\ncurl -X POST ${app().url}/api/create-session\n`)
  const samples = await page.locator('pre').count()
  await expect.poll(() => page.locator('.copyable button').count()).toBe(samples)

  const form = await tryCall(page, 'POST /api/create-session')
  await form.getByLabel('prefix').fill('not a name')
  await send(form)
  await form.getByText('400 Bad Request').waitFor()
  await expect.poll(async () => (await answerOf(form))['code']).toBe('invalid_prefix')
  await form.getByLabel('prefix').fill('tried.here')
  await send(form)
  await form.getByText('200 OK').waitFor()
  const { email, token } = (await answerOf(form)) as { email: string; token: string }
  expect(email).toMatch(/^tried\.here@/)
  await form.getByRole('button', { name: 'Use this token for the calls below' }).click()

  const check = await tryCall(page, 'GET /api/check-mail')
  await check.getByLabel('wait').fill('50')
  await send(check)
  await check.getByText('Waiting for the response').waitFor()
  await check.getByRole('button', { name: 'Stop' }).click()
  await check.getByText('Stopped.').waitFor()
  await check.getByLabel('wait').fill('')
  await check.getByLabel('limit').fill('5')
  await check.getByText('As a curl command').click()
  const line = check.locator('.secret-sample code')
  expect((await line.textContent())?.includes(token), 'the token is hidden').toBeFalsy()
  await check.getByRole('button', { name: 'Show secret' }).click()
  await expect.poll(() => line.textContent()).toContain(token)
  const command = (await line.textContent()) ?? ''
  expect(command).toContain(`${app().url}/api/check-mail?limit=5`)
  const { stdout } = await promisify(execFile)('bash', [
    '-c',
    command.replace('curl', `${program('curl')} -s`),
  ])
  expect(JSON.parse(stdout).email).toBe(email)

  await app().mail(email)
  await send(check)
  const { messages } = (await answerOf(check)) as { messages: { subject: string }[] }
  expect(messages.map(({ subject }) => subject)).toStrictEqual(['Hello'])
  await check.getByText('Headers').click()
  await check.getByText('etag').waitFor()

  const deletion = await tryCall(page, 'POST /api/delete-session')
  await send(deletion)
  const dialog = page.getByRole('dialog', { name: 'Send this request?' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(await app().mail(email)).toBe(250)
  await send(deletion)
  await dialog.getByRole('button', { name: 'Send', exact: true }).click()
  await deletion.getByText('200 OK').waitFor()
  expect(await app().mail(email)).toBe(550)
})

test('the console shows the events of a stream, stops it, reports its end, sends nothing while a required parameter is missing, saves a download as a file, and reports that the site is unreachable', async () => {
  allow({ complaint: /ERR_FAILED/ })
  const { email, token } = await app().session()
  const page = await visit('/docs', { viewport: DESKTOP })
  const form = await tryCall(page, 'GET /api/events')
  await form.getByLabel('Session token').fill(token)
  await send(form)
  await form.getByText('Stream open').waitFor()
  await app().mail(email)
  await form.getByRole('log').getByText('event: message').waitFor()
  await form.getByRole('button', { name: 'Stop' }).click()
  await form.getByText('Stopped.').waitFor()
  await expect.poll(() => form.getByRole('button', { name: 'Send' }).isEnabled()).toBeTruthy()

  const raw = await tryCall(page, 'GET /api/raw-mail')
  const requested: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  await send(raw)
  await expect.poll(() => page.evaluate(`document.activeElement.matches(':invalid')`)).toBe(true)
  expect(requested.filter((url) => url.includes('/api/'))).toStrictEqual([])
  const listed = await fetch(`${app().url}/api/check-mail?token=${token}`)
  const { messages } = (await listed.json()) as { messages: { id: number }[] }
  await raw.getByLabel('id').fill(String(messages[0]?.id))
  await send(raw)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    raw.getByRole('link', { name: /^Download message-\d+\.eml/ }).click(),
  ])
  expect(download.suggestedFilename()).toMatch(/^message-\d+\.eml$/)
  expect(readFileSync(await download.path(), 'utf8')).toMatch(/Your code is 123456/)
  await page.route('**/api/raw-mail*', (route) => route.abort())
  await send(raw)
  await raw.getByText('Could not reach the server').waitFor()

  await send(form)
  await form.getByText('Stream open').waitFor()
  await fetch(`${app().url}/api/delete-session`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
  })
  await form.getByText('Stream ended').waitFor()
  await expect
    .poll(async () => (await form.getByRole('log').textContent()) ?? '')
    .toMatch(/event: end/)
})

test('a language chosen for one example is that of all, also after a reload, and the page does not jump; the token of the inbox is filled in, masked but copied in full, and its address in no example for keys', async () => {
  const { email, token } = await app().session()
  const permissions = ['clipboard-read', 'clipboard-write']
  const page = await visit('/favicon.svg', { viewport: DESKTOP, permissions })
  await storeMailboxes(page, [{ email, token }])
  const requests: string[] = []
  page.on('request', (request) => requests.push(`${request.url()} ${request.postData()}`))
  await page.goto(`${app().url}/docs`)
  const check = page.locator('#check-mail .example')
  await check.getByRole('button', { name: 'Copy' }).first().waitFor()
  await check.scrollIntoViewIfNeeded()
  const { y: before } = (await check.boundingBox()) ?? {}
  // As the arrow keys do.
  await check.getByRole('radio', { name: 'curl' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await check.getByText('mailbox.wait_for_code(').waitFor()
  await expect.poll(async () => (await check.boundingBox())?.y).toBeCloseTo(before ?? 0, 0)

  await page.reload()
  const emails = page.locator('#list-emails .example')
  await emails.getByText('in mayfly.emails(').waitFor()
  await expect.poll(() => emails.textContent()).toContain('to="ADDRESS"')
  expect(await check.textContent()).not.toContain(token)
  await check.getByRole('button', { name: 'Copy' }).click()
  await check.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  expect(copied).toContain(`.open_mailbox("${token}")\n`)
  expect(requests.filter((text) => text.includes(token) || text.includes(email))).toStrictEqual([])
  const served = await (await fetch(`${app().url}/docs`)).text()
  expect(served).toContain('<var>TOKEN</var>')
})

// Contains characters not allowed in a header, so it cannot be sent to the server.
const NON_ASCII = 'mf_live_€'

test('the console uses the token of the inbox only on request, reads mail with a key, shows the cost, stores both for this tab only, and shows the API’s error for a secret that cannot be sent', async () => {
  const { email, token } = await app().session()
  const page = await visit('/favicon.svg', { viewport: DESKTOP })
  await storeMailboxes(page, [{ email, token }])
  const check = await openConsole({ page, app: app() }, 'GET /api/check-mail')
  const field = check.getByLabel('Session token')
  expect(await field.inputValue()).toBe('')
  await field.fill(NON_ASCII)
  await send(check)
  await check.getByText('token: no session has this token.').waitFor()
  await check.getByRole('button', { name: `Use the token for ${email}` }).click()
  await expect.poll(() => field.inputValue()).toBe(token)
  await send(check)
  await check.getByText('200 OK').waitFor()
  await expect.poll(async () => (await answerOf(check))['email']).toBe(email)

  const key = await ring.issue()
  await app().mail('console@pool.test')
  const form = await tryCall(page, 'GET /emails')
  await form.getByText('A successful response counts as one request').waitFor()
  await form.getByLabel('to', { exact: true }).fill('console@pool.test')
  await form.getByLabel('Your key').fill(NON_ASCII)
  await send(form)
  await form.getByText('The API key is invalid or missing.').waitFor()
  await form.getByLabel('Your key').fill(key.secret)
  await send(form)
  await form.getByText('200 OK').waitFor()
  const [found] = (await answerOf(form)) as unknown as { emails: { subject: string }[] }[]
  expect(found?.emails.map(({ subject }) => subject)).toStrictEqual(['Hello'])
  expect(await ring.used(key)).toBe(1)
  await form.getByText('Headers').click()
  await form.getByText('x-ratelimit-remaining').waitFor()

  const other = await newTab(page, '/docs')
  const again = await tryCall(other, 'GET /api/check-mail')
  expect(await again.getByLabel('Session token').inputValue()).toBe('')
  await other.close()
  await page.goto(`${app().url}/key`)
  await page.getByText('1 of 1,000 used').waitFor()
})
