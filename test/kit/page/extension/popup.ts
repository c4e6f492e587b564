import { expect } from 'vitest'
import type { App } from '../../app/app.ts'
import type { KeyRing } from '../../shop/keys.ts'
import { waitUntil } from '../../wait-until.ts'
import type { Visitor } from '../engines/driver.ts'
import { textMail } from '../mails.ts'
import {
  changeStored,
  fieldValue,
  openPopup,
  readStored,
  removeServer,
  type Stage,
  saveServer,
} from './person.ts'

// What a person sees and does in the popup.

interface Refusal {
  server: { url: string; key?: string; domain?: string }
  sentence: string
}

/** Why a server creates no address, and what the popup says then. */
export async function refusals({ app }: Stage, ring: KeyRing): Promise<Record<string, Refusal>> {
  const used = await ring.issue({ requests: 1 })
  await fetch(`${app.url}/emails`, { headers: used.headers })
  const { url } = app
  return {
    'a taken name': { server: { url }, sentence: 'This address is taken.' },
    // Nothing listens on port 1.
    'a server that is away': {
      server: { url: 'http://127.0.0.1:1' },
      sentence: '127.0.0.1:1 cannot be reached.',
    },
    'a wrong key': {
      server: { url, key: 'mf_live_nobody' },
      sentence: 'The server does not accept this key.',
    },
    'a plan used up': {
      server: { url, key: used.secret },
      sentence: 'The plan of your key is used up or has expired.',
    },
    'an unknown domain': {
      server: { url, domain: 'gone.test' },
      sentence: 'The server does not have this domain.',
    },
  }
}

/** The name is taken, as one case needs it, and stays where it was typed. Before any address is created: the extension changes what it stores. */
export async function seeRefusal(stage: Stage, { server, sentence }: Refusal): Promise<void> {
  const { engine, site } = stage
  await changeStored(engine, { servers: [server] })
  const page = await engine.open()
  await page.goto(`${site.origin}/form`)
  const popup = await openPopup(engine, site.origin)
  await popup.click('summary')
  await popup.fill('#prefix', TAKEN)
  await popup.click('#create')
  await popup.see('#status', sentence)
  expect(await popup.text('#status')).toBe(sentence)
  expect(await fieldValue(popup, '#prefix')).toBe(TAKEN)
  expect(await fieldValue(page, '#email')).toBe('')
  await popup.close()
  await page.close()
}

export const TAKEN = 'tea.lover'

/** Creates an address in the popup, which also fills it in. */
export async function createInPopup(
  stage: Stage,
  popup: Visitor,
  { prefix = '', server = '' } = {},
): Promise<string> {
  const before = (await readStored(stage.engine)).addresses ?? []
  if (prefix || server) await popup.click('summary')
  if (prefix) await popup.fill('#prefix', prefix)
  if (server) {
    await popup.evaluate(`(() => {
      const select = document.querySelector('#server')
      select.value = ${JSON.stringify(server)}
      select.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
  }
  await popup.click('#create')
  let email = ''
  await waitUntil(async () => {
    const { addresses = [] } = await readStored(stage.engine)
    const created = addresses.find(({ id }) => !before.some((one) => one.id === id))
    email = created?.email ?? ''
    return created
  })
  await popup.see(`[data-email="${email}"]`)
  return email
}

async function deleteInPopup(popup: Visitor, email: string): Promise<void> {
  await popup.click(`[data-email="${email}"] [data-action=delete]`)
  await popup.click(`[data-email="${email}"] [data-action=confirm-delete]`)
  await popup.gone(`[data-email="${email}"]`)
}

/** Code mail arrives, is shown, is filled in by the popup. */
export async function fillCodeFromPopup(stage: Stage): Promise<void> {
  const { engine, app, site } = stage
  const page = await engine.open()
  await page.goto(`${site.origin}/hostile`)
  const popup = await openPopup(engine, site.origin)
  const email = await createInPopup(stage, popup)
  await waitUntil(async () => (await fieldValue(page, '#email')) === email)
  await app.mail(email, textMail('Your code is 582164.', { from: 'Tea <tea@tea.test>' }))
  await popup.see(`[data-email="${email}"] .code`, '582164')
  await popup.click(`[data-email="${email}"] [data-action=fill-code]`)
  await waitUntil(async () => (await fieldValue(page, '#code')) === '582164')
  await popup.close()
  await page.close()
}

export const SECOND_DOMAIN = 'second.test'

/** Addresses of two servers side by side; each has its own mail. */
export async function useTwoServers(stage: Stage, second: App): Promise<void> {
  const { engine, site } = stage
  await saveServer(engine, { url: second.url })
  const page = await engine.open()
  await page.goto(`${site.origin}/form`)
  const popup = await openPopup(engine, site.origin)
  const email = await createInPopup(stage, popup, { prefix: 'second', server: second.url })
  expect(email).toBe(`second@${SECOND_DOMAIN}`)
  await second.mail(email, textMail('Your code is 407713.', { from: 'Tea <tea@tea.test>' }))
  await popup.see(`[data-email="${email}"] .code`, '407713')
  // Else the code would be offered in the pages of the next tests.
  await deleteInPopup(popup, email)
  await popup.close()
  await page.close()
  await removeServer(engine, second.url)
}

/** The addresses of a server that was removed stay in the popup, and can be deleted there. */
export async function deleteWithoutServer(stage: Stage): Promise<void> {
  const { engine, app, site } = stage
  const { servers = [] } = await readStored(engine)
  const page = await engine.open()
  await page.goto(`${site.origin}/form`)
  const popup = await openPopup(engine, site.origin)
  const email = await createInPopup(stage, popup)
  await removeServer(engine, app.url)
  await popup.see('#setup')
  await deleteInPopup(popup, email)
  await popup.close()
  await page.close()
  const key = servers.find(({ url }) => url === app.url)?.key
  await saveServer(engine, { url: app.url, ...(key !== undefined && { key }) })
}

/** The last of all: the clock of the service goes on for a week. */
export async function seeExpired(stage: Stage): Promise<void> {
  const { engine, app, site } = stage
  const page = await engine.open()
  await page.goto(`${site.origin}/form`)
  const popup = await openPopup(engine, site.origin)
  const email = await createInPopup(stage, popup)
  await popup.close()
  app.moveClock(8 * 86_400)
  const later = await openPopup(engine, site.origin)
  const sentence = 'This address has expired and its mail was deleted.'
  await later.see(`[data-email="${email}"] .error`, sentence)
  await later.click(`[data-email="${email}"] [data-action=extend]`)
  await later.gone(`[data-email="${email}"] .error`)
  await deleteInPopup(later, email)
  await later.close()
  await page.close()
}
