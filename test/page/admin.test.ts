import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openPages } from './support/pages.ts'
import { ADMIN_ENV, openView, signIn } from './views/admin.ts'

const { app, visit, allow } = openPages({ ...ADMIN_ENV, MAYFLY_TRUST_PROXY: '127.0.0.0/8' })

test('the operator signs in, works and signs out; a wrong token is refused', async () => {
  allow({ complaint: /400|401/ })
  const page = await visit('/admin')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Enter the admin token.').waitFor()
  await signIn(page, 'wrong')
  await page.getByText('This is not the admin token.').waitFor()
  assert.equal(await page.getByLabel('Admin token').getAttribute('aria-invalid'), 'true')
  await signIn(page)
  await page.getByText('Only mail to postmaster and abuse can be read here.').first().waitFor()

  // The token is neither stored nor readable for scripts, and a reload keeps the sign-in.
  const stored = 'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])'
  const text = String(await page.evaluate(stored))
  assert.ok(!/admin-token|mayfly-admin/.test(text), text)
  await page.reload()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()

  await openView(page, 'Domains')
  await page.getByLabel('Name').fill('nodot')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('alert').getByText('this is not a domain name').waitFor()
  await page.getByLabel('Name').fill('new.test')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const added = page.getByRole('listitem').filter({ hasText: 'new.test' })
  await added.getByRole('button', { name: 'Deactivate: new.test' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('no longer offered').waitFor()
  await dialog.getByRole('button', { name: 'Deactivate' }).click()
  await added.getByText('Inactive').waitFor()

  const { email, token } = await app().session()
  await openView(page, 'Sessions')
  await page.getByLabel('Address').fill(email)
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('button', { name: `End session: ${email}` }).click()
  await dialog.getByRole('button', { name: 'End session' }).click()
  await page.getByText(`The session of ${email} has ended.`).waitFor()
  const check = await fetch(`${app().url}/api/check-mail?token=${token}`)
  assert.equal(check.status, 401)

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Admin token').waitFor()
  await page.reload()
  await page.getByLabel('Admin token').waitFor()
})

test('an expired sign-in leads back to the form, which says so', async () => {
  allow({ complaint: /401/ })
  const page = await visit('/admin')
  await signIn(page)
  // The overview has sent all its requests by then.
  await openView(page, 'Domains')
  await page.context().clearCookies()
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByText('You are no longer signed in. Sign in again.').waitFor()
})

test('while the service is unavailable, the form says why', async () => {
  allow({ complaint: /401|503/ })
  const page = await visit('/admin')
  const message = 'Nobody can sign in now: PostgreSQL cannot be reached'
  const json = { status: 'error', code: 'overloaded', message, request_id: 'one' }
  await page.route('**/admin/api/sign-in', (route) => route.fulfill({ status: 503, json }))
  await page.reload()
  await page.getByRole('alert').getByText(message).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0)
  await signIn(page)
  await page.getByRole('alert').getByText(message).waitFor()
  await page.unroute('**/admin/api/sign-in')
  await signIn(page)
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
})

test('a browser that drops the cookie is told about https', async () => {
  allow({ complaint: /401/ })
  const page = await visit('/admin')
  // As over http, if the address of the service is https.
  await page.route('**/admin/api/sign-in', async (route) => {
    await page.context().clearCookies()
    await route.continue()
  })
  await signIn(page)
  await page.getByRole('alert').getByText('Open the page by its https address.').waitFor()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
})
