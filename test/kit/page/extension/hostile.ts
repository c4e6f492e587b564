import { expect } from 'vitest'
import { waitUntil } from '../../wait-until.ts'
import type { Driver } from '../engines/driver.ts'
import { textMail } from '../mails.ts'
import {
  clickButton,
  fieldValue,
  placeOf,
  readStored,
  type Stage,
  type Stored,
  waitForButton,
} from './person.ts'

/** What the page does to the button as soon as it appears. */
export const DISGUISES = [
  ...(['covered', 'transparent', 'filtered', 'clipped', 'enlarged'] as const),
  // By something tiny in the top layer.
  ...(['backdrop', 'shadow', 'child', 'nested'] as const),
  // By a pseudo-element of its own host.
  ...(['before', 'after'] as const),
  ...(['transition', 'enclosed', 'reopened'] as const),
]

/** On a site that the person has allowed, with the field in focus and the button beside it. */
async function openHostile({ engine, site }: Stage): Promise<Driver> {
  const tab = await engine.open()
  await tab.goto(`${site.origin}/hostile`)
  await tab.click(EMAIL)
  await waitForButton(tab, 'address')
  return tab
}

const EMAIL = `document.querySelector('#email')`
const CODE = `document.querySelector('#code')`

const addressesOf = async ({ engine }: Stage): Promise<NonNullable<Stored['addresses']>> =>
  (await readStored(engine)).addresses ?? []

/** Fills the field by a click in plain view. Of all that was clicked since, this alone created an address. */
async function fillOnce(stage: Stage, tab: Driver, before: number): Promise<string> {
  expect(await fieldValue(tab, '#email')).toBe('')
  if (!(await placeOf(tab, 'address'))) await tab.click(EMAIL)
  await clickButton(tab, 'address', async () => (await fieldValue(tab, '#email')).includes('@'))
  expect(await addressesOf(stage)).toHaveLength(before + 1)
  return await fieldValue(tab, '#email')
}

/** The person clicks the button in disguise. */
export async function clickDisguised(
  stage: Stage,
  disguise: (typeof DISGUISES)[number],
): Promise<void> {
  const { length } = await addressesOf(stage)
  const tab = await openHostile(stage)
  const place = await waitForButton(tab, 'address')
  // The button disappears, and appears anew.
  await tab.click(CODE)
  await waitUntil(async () => !(await placeOf(tab, 'address')))
  const name = JSON.stringify(disguise)
  await tab.evaluate(`void (hostile.disguise = hostile.disguises[${name}])`)
  await tab.click(EMAIL)
  await waitForButton(tab, 'address')
  // Longer than it has to be in sight.
  for (let clicks = 0; clicks < 14; clicks += 1) {
    await tab.clickAt(...place)
    await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 50))')
  }
  await tab.evaluate('void hostile.undo()')
  await fillOnce(stage, tab, length)
  await tab.close()
}

/** The page clicks and types for the person, and then wants all that it can reach. */
export async function attack(stage: Stage): Promise<void> {
  const { engine, app, site } = stage
  const { length } = await addressesOf(stage)
  const tab = await openHostile(stage)
  await tab.evaluate(`void hostile.speak(${JSON.stringify(new URL(engine.fileUrl('')).host)})`)
  const files = ['popup.html', 'content.js', 'icon-128.png', 'manifest.json']
  const urls = files.map((file) => engine.fileUrl(file))
  expect(await tab.evaluate(`hostile.reach(${JSON.stringify(urls)})`)).toStrictEqual([])
  await tab.click(EMAIL)
  await waitForButton(tab, 'address')
  await tab.evaluate('void hostile.clickForUser()')
  await tab.evaluate('void hostile.focusButton()')
  await tab.press(['Enter', ' '])
  const email = await fillOnce(stage, tab, length)

  const code = '739146'
  await app.mail(email, textMail(`Your code is ${code}.`, { from: 'Tea <tea@tea.test>' }))
  await waitForButton(tab, 'code')
  await tab.evaluate('void hostile.clickForUser()')
  await tab.evaluate(`void hostile.speak('')`)
  const loot = String(await tab.evaluate('hostile.loot()'))
  expect(loot, 'the page has looked').toContain(email)
  const { servers = [], addresses = [] } = await readStored(engine)
  const secrets = [...servers.map(({ key = '' }) => key), ...addresses.map(({ token }) => token)]
  expect(secrets.filter((secret) => secret.length < 20)).toStrictEqual([])
  for (const secret of [...secrets, code]) {
    expect(loot).not.toContain(secret)
    expect(site.requests.join('\n')).not.toContain(secret)
  }
  await clickButton(tab, 'code', async () => (await fieldValue(tab, '#code')) === code)
  await tab.close()
}

/** The person clicks into a window of the page, which lies over the button and closes itself: the second click of a double-click. */
export async function clickBehindWindow(stage: Stage): Promise<void> {
  const { length } = await addressesOf(stage)
  const tab = await openHostile(stage)
  const place = await waitForButton(tab, 'address')
  await tab.evaluate(
    `void (globalThis.cover = open('about:blank', '', 'popup,width=400,height=300'))`,
  )
  await waitUntil(() => tab.evaluate('!document.hasFocus()'))
  // Longer than the button has to be in sight.
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 1000))')
  await tab.clickAt(...place)
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 500))')
  await tab.evaluate('void cover.close()')
  await fillOnce(stage, tab, length)
  await tab.close()
}

/** A page of an allowed site inside another page: nothing is offered there, as the other page may hide it. */
export async function openFramed({ engine, site }: Stage): Promise<void> {
  const tab = await engine.open()
  await tab.goto(`${site.origin}/hostile`)
  await tab.evaluate(`new Promise((resolve) => {
    const frame = Object.assign(document.createElement('iframe'), { id: 'inner', src: '/form', width: 600, height: 400, onload: () => resolve(null) })
    frame.dataset.own = 'true'
    document.body.prepend(frame)
  })`)
  const [x, y] = (await tab.evaluate(`(() => {
    const frame = document.querySelector('#inner')
    const outer = frame.getBoundingClientRect()
    const field = frame.contentDocument.querySelector('#email').getBoundingClientRect()
    return [outer.x + field.x + 20, outer.y + field.y + 10]
  })()`)) as [number, number]
  await tab.clickAt(x, y)
  await waitUntil(() =>
    tab.evaluate(`document.querySelector('#inner').contentDocument.activeElement.id === 'email'`),
  )
  const top = await engine.open()
  await top.goto(`${site.origin}/form`)
  await top.click(EMAIL)
  await waitForButton(top, 'address')
  const inner = `document.querySelector('#inner').contentDocument.querySelector('[data-mayfly]')`
  expect(await tab.evaluate(`${inner} === null && !document.querySelector('[data-mayfly]')`)).toBe(
    true,
  )
  await top.close()
  await tab.close()
}

/**
 * The field moves, and the button with it, under a cursor that was about to click something else. A click is only of use within
 * the half second in which the person cannot know: on a slow machine it is tried again, in a new tab.
 */
export async function clickAfterJump(stage: Stage): Promise<void> {
  for (let attempts = 0; attempts < 10; attempts += 1) {
    const { length } = await addressesOf(stage)
    const tab = await openHostile(stage)
    const [, before] = await waitForButton(tab, 'address')
    await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 1000))')
    const start = performance.now()
    await tab.evaluate('void hostile.jump()')
    await waitUntil(async () => (await placeOf(tab, 'address'))?.[1] !== before)
    await tab.clickAt(...(await waitForButton(tab, 'address')))
    const isInTime = performance.now() - start < 400
    if (isInTime) await fillOnce(stage, tab, length)
    await tab.close()
    if (isInTime) return
  }
}
