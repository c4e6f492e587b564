import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDnsServer, type Zone } from '../kit/dns/dns-server.ts'
import { request } from '../kit/http/http-client.ts'
import { PHONE } from '../kit/page/browser.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'
import { enterKey, OWN_DOMAINS } from '../kit/page/views/key.ts'
import { type KeyRing, openKeyRing, type TestKey } from '../kit/shop/keys.ts'
import { waitUntil } from '../kit/wait-until.ts'

const NAME = 'mail.acme.test'
const zone: Zone = {
  'NS acme.test': ['ns.acme.test'],
  'A ns.acme.test': ['127.0.0.1'],
  'SOA acme.test': ['ns.acme.test'],
}
const dns = await openDnsServer(zone)
const { app, visit, allow } = openPages({
  ...OWN_DOMAINS,
  MAYFLY_DNS: dns.server,
  MAYFLY_OWN_DOMAIN_DNS: dns.server,
})
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(app())
})
afterAll(async () => {
  await ring.close()
  await dns.close()
})

async function showDomains(key: TestKey): Promise<Page> {
  const page = await visit('/key', { viewport: PHONE })
  await enterKey(page, key.secret)
  await page.getByRole('heading', { name: 'Your domains' }).waitFor()
  return page
}

test('a domain is added, verified once its record is published, and deleted with its permanent addresses; what is refused says why', async () => {
  const key = await ring.issue({ domains: 1 })
  const page = await showDomains(key)
  const section = page.getByRole('region', { name: 'Your domains' })
  const press = (name: string) => section.getByRole('button', { name, exact: true }).click()
  const confirm = async (name: string) => {
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  }
  const add = async (name: string) => {
    await section.getByLabel('Domain', { exact: true }).fill(name)
    await press('Add domain')
  }
  allow({ complaint: /40[0-9]/ })
  await add('127.0.0.1')
  await section.getByRole('alert').getByText('Enter a domain name of your own').waitFor()
  await add('sub.box.test')
  await section.getByRole('alert').getByText('This domain belongs to the operator').waitFor()

  await add(NAME)
  await section.getByText('Not verified').waitFor()
  await section.getByText('Your plan includes 1 domain').waitFor()
  const records = section.getByRole('list', { name: 'DNS records' })
  const text = await records.locator('li', { hasText: 'TXT' }).locator('code').nth(1).textContent()
  await expect
    .poll(() => records.locator('code').allTextContents())
    .toStrictEqual([
      `_mayfly.${NAME}`,
      expect.stringMatching(/^mayfly-verification=[\w-]+$/),
      NAME,
      expect.stringMatching(/^10 /),
    ])
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await records.getByRole('button', { name: 'Copy: TXT, Value' }).click()
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(text)

  await press('Verify now')
  await section.getByRole('alert').getByText('The TXT record was not found').waitFor()
  zone[`TXT _mayfly.${NAME}`] = [text ?? '']
  await press('Verify now')
  await section.getByRole('status').getByText(`${NAME} is verified`).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Verify now')
  await app().mail(`anybody@${NAME}`)
  await press('Turn catch-all off')
  await section.getByText('Off: mail to unknown addresses is refused').waitFor()
  await expect
    .poll(() => section.getByText('Messages received').locator('+ dd').textContent())
    .toBe('1')

  const addresses = page.getByRole('region', { name: 'Permanent addresses' })
  await addresses.getByLabel('Name').fill('shop')
  await addresses.getByLabel('Label').fill('Orders')
  await addresses.getByRole('button', { name: 'Create address' }).click()
  await addresses.getByText(`shop@${NAME} is ready`).waitFor()
  await app().mail(`shop@${NAME}`)
  await addresses.getByLabel('Name').fill('shop')
  await addresses.getByRole('button', { name: 'Create address' }).click()
  await addresses.getByRole('alert').getByText('This address is taken').waitFor()
  await checkAccessibility(page)
  await page.reload()
  await addresses.getByText(`shop@${NAME}`).waitFor()
  await expect
    .poll(() => addresses.getByRole('listitem').allTextContents())
    .toStrictEqual([`shop@${NAME} Orders1 messageRoll tokenDelete`])
  await addresses.getByRole('button', { name: `Delete: shop@${NAME}` }).click()
  await confirm('Delete')
  await waitUntil(async () => (await addresses.getByRole('listitem').count()) === 0)
  await page.locator('section:focus', { hasText: 'Permanent addresses' }).waitFor()

  await section.locator('summary').first().click()
  await press('Delete domain')
  await confirm('Delete domain')
  await section.getByLabel('Domain', { exact: true }).waitFor()
  await expect.poll(() => section.locator('details').count()).toBe(0)
  await page.locator('section:focus', { hasText: 'Your domains' }).waitFor()
  await expect.poll(() => addresses.count()).toBe(0)
})

test('a permanent address is opened in the inbox with the token that was rolled, and has nothing to extend', async () => {
  const key = await ring.issue({ domains: 1 })
  const page = await showDomains(key)
  const section = page.getByRole('region', { name: 'Your domains' })
  await section.getByLabel('Domain', { exact: true }).fill(NAME)
  await section.getByRole('button', { name: 'Add domain' }).click()
  const value = section.locator('.records code').nth(1)
  zone[`TXT _mayfly.${NAME}`] = [(await value.textContent()) ?? '']
  await section.getByRole('button', { name: 'Verify now' }).click()
  const addresses = page.getByRole('region', { name: 'Permanent addresses' })
  await addresses.getByLabel('Name').fill('home')
  await addresses.getByRole('button', { name: 'Create address' }).click()
  const link = addresses.getByRole('link', { name: 'Open in the inbox' })
  const statusOf = async (given: string) =>
    (await request(`${app().url}/api/check-mail?token=${given}`)).status
  const former = (await link.getAttribute('href'))?.replace('/#open=', '') ?? ''
  expect(await statusOf(former)).toBe(200)

  const row = addresses.getByRole('listitem')
  await row.getByRole('button', { name: `Roll token: home@${NAME}` }).click()
  await page.getByRole('dialog').getByText('will stop working immediately').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Roll token' }).click()
  await row.getByRole('status').getByText(`new token for home@${NAME}`).waitFor()
  await expect.poll(() => addresses.getByText('is ready').count()).toBe(0)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await row.getByRole('button', { name: 'Copy: Session token' }).click()
  await row.getByRole('button', { name: 'Copied: Session token' }).waitFor()
  const token = String(await page.evaluate('navigator.clipboard.readText()'))
  expect([await statusOf(former), await statusOf(token)]).toStrictEqual([401, 200])
  await checkAccessibility(page)

  await link.click()
  await page.getByRole('button', { name: 'Open here' }).click()
  await page.getByText('Does not expire').waitFor()
  expect(await page.getByRole('button', { name: 'Extend' }).count()).toBe(0)
})

test('without domains in the plan, there is nothing to fill in', async () => {
  const page = await showDomains(await ring.issue({ domains: 0 }))
  await page.getByText('Your plan does not include domains').waitFor()
  expect(await page.getByLabel('Domain', { exact: true }).count()).toBe(0)
})

test('domains stay on the page after the operator has turned them off, but none can be added', async () => {
  const key = await ring.issue({ domains: 2 })
  const body = new URLSearchParams({ domain: NAME })
  const { headers } = key
  const added = await request(`${app().url}/domains`, { method: 'POST', headers, body })
  expect(added.status).toBe(200)
  const page = await visit('/key', { viewport: PHONE })
  // As a page of a server with MAYFLY_OWN_DOMAINS=off.
  await page.route('**/key', async (route) => {
    const response = await route.fetch()
    const body = (await response.text()).replace(/(ownDomains[^,]*)true/, '$1false')
    await route.fulfill({ response, body })
  })
  await page.reload()
  await enterKey(page, key.secret)
  await page.getByText('Not verified').waitFor()
  expect(await page.getByLabel('Domain', { exact: true }).count()).toBe(0)
})

test('a domain that the operator has suspended can be neither verified nor deleted', async () => {
  const key = await ring.issue({ domains: 1 })
  const { headers } = key
  const body = new URLSearchParams({ domain: 'suspended.test' })
  await request(`${app().url}/domains`, { method: 'POST', headers, body })
  const page = await visit('/key', { viewport: PHONE })
  await page.route('**/domains', async (route) => {
    const list = await (await route.fetch()).json()
    const suspended = { state: 'suspended', reason: 'suspended_by_operator' }
    await route.fulfill({ json: { ...list, domains: [{ ...list.domains[0], ...suspended }] } })
  })
  await enterKey(page, key.secret)
  const section = page.getByRole('region', { name: 'Your domains' })
  await section.getByText('The operator has suspended this domain').waitFor()
  const buttons = await section.locator('.key-entry').getByRole('button').allTextContents()
  expect(buttons).toContain('Turn catch-all off')
  expect(buttons).not.toContain('Verify now')
  expect(buttons).not.toContain('Delete domain')
})
