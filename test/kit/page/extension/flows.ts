import { expect } from 'vitest'
import { waitUntil } from '../../wait-until.ts'
import { htmlMail } from '../mails.ts'
import {
  clickButton,
  deep,
  fieldValue,
  openPopup,
  placeOf,
  type Stage,
  waitForButton,
} from './person.ts'
import type { Variant } from './sign-up-pages.ts'
import { HOST } from './sign-up-site.ts'

const EMAIL_FIELD = 'input[type=email], input[name=user_email]'
const CODE_FIELDS: Record<Variant, string> = {
  form: '#code',
  app: 'input[name=verification_code]',
  boxes: '.boxes input',
}

/** From the focus in the field to the welcome of the site, without a key pressed. Returns the address, and the milliseconds of both steps. */
export async function signUp(
  { engine, site }: Stage,
  variant: Variant,
): Promise<{ email: string; addressMs: number; codeMs: number }> {
  const tab = await engine.open()
  await tab.goto(`${site.origin}/${variant}`)
  await waitUntil(() => tab.evaluate(`${deep(EMAIL_FIELD)} !== null`))
  const start = performance.now()
  await tab.click(deep(EMAIL_FIELD))
  await clickButton(tab, 'address', async () => (await fieldValue(tab, EMAIL_FIELD)).includes('@'))
  const filled = performance.now()
  const email = await fieldValue(tab, EMAIL_FIELD)

  await tab.click(deep('button'))
  const field = CODE_FIELDS[variant]
  await waitUntil(() => tab.evaluate(`${deep(field)}?.checkVisibility() === true`))
  const submitted = performance.now()
  const isWelcome = async () =>
    (await tab.evaluate(`${deep('#welcome')}?.textContent`)) === `Welcome, ${email}`
  if (variant === 'boxes') {
    // The page submits by itself.
    await clickButton(tab, 'code', isWelcome)
  } else {
    await clickButton(
      tab,
      'code',
      async () => (await fieldValue(tab, field)) === site.codes.get(email),
    )
    await tab.click(deep('button'))
  }
  const done = performance.now()
  await waitUntil(isWelcome)
  await tab.close()
  return { email, addressMs: filled - start, codeMs: done - submitted }
}

/** A confirmation link is offered with its host, and opened by a click only. */
export async function openOfferedLink({ engine, app, site }: Stage): Promise<void> {
  const tab = await engine.open()
  await tab.goto(`${site.origin}/form`)
  await tab.click(deep(EMAIL_FIELD))
  await clickButton(tab, 'address', async () => (await fieldValue(tab, EMAIL_FIELD)).includes('@'))
  const email = await fieldValue(tab, EMAIL_FIELD)
  const url = `${site.origin}/confirm?secret=41`
  const html = `<p>Welcome!</p><p><a href="${url}">Confirm your e-mail address</a></p>`
  await app.mail(email, htmlMail(html, { subject: 'Confirm your e-mail address' }))
  await waitForButton(tab, 'code')
  const popup = await openPopup(engine, site.origin)
  const action = `[data-email="${email}"] [data-action=open-link]`
  await popup.see(action, HOST)
  const opened = () => site.requests.some((request) => request.startsWith('GET /confirm?secret=41'))
  expect(opened()).toBe(false)
  await popup.click(action)
  await waitUntil(opened)
  // Nor is it offered any longer.
  await waitUntil(async () => !(await placeOf(tab, 'code')))
  await popup.close()
  await tab.close()
}
