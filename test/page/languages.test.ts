import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { mailboxOf, plainMail } from '../kit/page/inbox.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'

const { app, visit, allow } = openPages()

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const PHONE = { width: 360, height: 740 }

/** The inbox in a browser that prefers this language, with an open stream. */
async function openIn(locale: string): Promise<Page> {
  const page = await visit('/', { locale })
  await page.locator('.status-dot.live').waitFor()
  return page
}

async function announced(page: Page): Promise<unknown> {
  return await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')
}

/**
 * Latin words in all visible and accessible text, except addresses, keys and names of languages. Not polled: an English notice may
 * disappear.
 */
async function latinWords(page: Page): Promise<string[]> {
  const { email } = await mailboxOf(page)
  const [name = ''] = email.split('@')
  const texts = (await page.evaluate(`[
    document.title,
    ...[...document.querySelectorAll('body *')].flatMap((one) => [
      ...['aria-label', 'aria-valuetext', 'title', 'placeholder'].map((name) => one.getAttribute(name) ?? ''),
      ...[...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data),
    ]),
  ]`)) as string[]
  const left = texts.map((text) =>
    text.replace(/https?:\S+|\S*@\S*|\S*\.(eml|test)|Mayfly|API|QR/g, ''),
  )
  const known = [
    name,
    'English',
    'Español',
    'Português',
    'Deutsch',
    'Français',
    'Enter',
    'Esc',
    'Del',
  ]
  return left.filter((text) => /[a-z]{2}/i.test(text) && !known.includes(text))
}

const LATIN =
  /Starter|Business|Standard e-mail support|24\/7 priority support|API|US\$|\S+@\S+|MAYFLY_PAYMENTS|mayfly key issue --plan starter/g

describe('Arabic', () => {
  test('is used at first paint, right to left, before any script runs', async () => {
    allow({ complaint: /ERR_FAILED/ })
    const page = await visit('/favicon.svg', { locale: 'ar' })
    await page.route('**/assets/*.js', (route) => route.abort())
    for (const [path, words] of [
      ['/', 'الوارد'],
      ['/pricing', undefined],
      ['/key', undefined],
      ['/docs', 'API'],
    ] as const) {
      await page.goto(`${app().url}${path}`)
      expect(await announced(page)).toStrictEqual(['ar', 'rtl'])
      const current = await page.locator('nav [aria-current]').allInnerTexts()
      expect(current).toStrictEqual(words === undefined ? [] : [words])
      const links = await page.locator('header.top a').allInnerTexts()
      expect(links, path).toStrictEqual(['Mayfly', 'الوارد', 'API'])
      // The reference is in English. Elsewhere only plan names, an address and a command are.
      if (path === '/docs') continue
      const text = await page.locator('main').innerText()
      expect(text.replaceAll(LATIN, ''), path).not.toMatch(/[a-z]{2}/i)
    }
  })

  test('is used for all text of the inbox, its message and its dialogs', async () => {
    const page = await openIn('ar')
    const { email } = await mailboxOf(page)
    const from = `=?utf-8?B?${Buffer.from('متجر').toString('base64')}?= <shop@cairo.test>`
    await page.locator('.settings summary').click()
    await page.locator('.privacy summary').click()
    await page.locator('.privacy[open]').waitFor()
    expect(await latinWords(page)).toStrictEqual([])

    await app().mail(email, plainMail({ from, subject: '', text: '482915 :رمز التحقق' }))
    await page.locator('.mail-open').click()
    await page.locator('.tab-view').waitFor()
    expect(await latinWords(page)).toStrictEqual([])
    await page.locator('.mail-tick input').check()
    await page.getByRole('searchbox').fill('=')
    await page.locator('.search-count').waitFor()
    expect(await latinWords(page)).toStrictEqual([])

    for (const name of ['اختيار اسم', 'فتح على الهاتف', 'حذف العنوان']) {
      await page.getByRole('button', { name: 'المزيد' }).click()
      await page.getByRole('button', { name }).click()
      await page.getByRole('dialog').waitFor()
      expect(await latinWords(page), name).toStrictEqual([])
      await page.getByRole('button', { name: 'إغلاق' }).click()
    }
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    expect(await latinWords(page)).toStrictEqual([])
  })

  test('is mirrored, except addresses, codes and Latin names, fits a phone and is accessible, light and dark', async () => {
    const page = await openIn('ar')
    const { email } = await mailboxOf(page)
    await app().mail(
      email,
      plainMail({ subject: '[Shop] Your code!', text: 'Your code is 482915.' }),
    )
    await page.locator('.mail-open').click()
    await page.locator('.tab-view').waitFor()
    const boxOf = async (place: string) => {
      const box = await page.locator(place).boundingBox()
      return box ?? expect.fail(place)
    }
    const [list, reader] = [await boxOf('.list'), await boxOf('.reader-pane')]
    expect(list.x, 'the list is not on the right').toBeGreaterThan(reader.x)
    const [address, copy] = [await boxOf('#address bdi'), await boxOf('.address-line button')]
    expect(address.x, 'the address is not on the right').toBeGreaterThan(copy.x + copy.width)

    for (const place of ['.tools', '.reader-head']) {
      const padding = `(({ paddingLeft, paddingRight }) => [paddingLeft, paddingRight])(
        getComputedStyle(document.querySelector('${place}')),
      )`
      const expected = place === '.tools' ? ['6.4px', '0px'] : ['8px', '20px']
      expect(await page.evaluate(padding), place).toStrictEqual(expected)
    }

    for (const place of ['#address bdi', '.mail-subject bdi', '.reader-head h2 bdi', '.code-big']) {
      const direction = `getComputedStyle(document.querySelector('${place}')).direction`
      await expect.poll(() => page.evaluate(direction), { message: place }).toBe('ltr')
    }
    // Truncated at the end, not at the start.
    const [subject, whole] = [await boxOf('.mail-subject bdi'), await boxOf('.mail-subject')]
    expect(Math.abs(subject.x + subject.width - whole.x - whole.width)).toBeLessThan(1)

    await page.locator('#new-address').click()
    await page.locator('.switcher').waitFor()
    const { email: other } = await mailboxOf(page)
    await page.getByText(`العنوان الجديد: \u2068${other}\u2069`).first().waitFor()

    await page.setViewportSize(PHONE)
    await app().mail(other, plainMail({ text: 'Your code is 482915.' }))
    await page.locator('.mail-code').waitFor()
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
    await checkAccessibility(page)
    await page.locator('.mail-open').click()
    await page.locator('.tab-view').waitFor()
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
    await page.emulateMedia({ colorScheme: 'dark' })
    await checkAccessibility(page)
  })
})

test('German formats numbers, times and the tab title in its way, and fits a phone with its long words', async () => {
  const page = await openIn('de-AT')
  await expect.poll(() => announced(page)).toStrictEqual(['de', 'ltr'])
  const { email } = await mailboxOf(page)
  await page.getByText(/Noch 23 Std\., 59 Min\./).waitFor()
  await app().mail(email, plainMail({ subject: 'Eins' }))
  await app().mail(email, plainMail({ subject: 'Zwei' }))
  await page.getByText('2 ungelesen', { exact: true }).waitFor()
  await expect.poll(() => page.title()).toBe('(2) Posteingang – Mayfly')
  await page.getByRole('checkbox', { name: '„Zwei“ auswählen' }).check()
  await page.getByText('1 gewählt').waitFor()
  await page.getByRole('button', { name: 'Löschen', exact: true }).last().click()
  await page.getByText('Nachricht gelöscht').waitFor()

  await page.setViewportSize(PHONE)
  await app().mail(email, plainMail({ text: 'Your code is 482915.' }))
  await page.locator('.mail-code').waitFor()
  const height = async () => (await page.locator('.tools').boundingBox())?.height
  await expect.poll(height, { message: 'the tools take two lines' }).toBeLessThan(60)
  await page.locator('.mail-open').first().click()
  await page.locator('.tab-view').waitFor()
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
  for (const path of ['/pricing', '/key', '/docs']) {
    await page.goto(`${app().url}${path}`)
    await page.getByLabel('Sprache').waitFor()
    await expect
      .poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: path })
      .toBe(PHONE.width)
  }
})

// The others differ only in the files that the build has written in the same way.
const SOME = [
  ['pt-BR', 'pt', ['pt']],
  ['nl', 'en', []],
] as const
const OTHERS = [
  ['en-GB', 'en', []],
  ['zh-CN', 'zh', ['zh']],
  ['es', 'es', ['es']],
  ['de', 'de', ['de']],
  ['fr-CA', 'fr', ['fr']],
  ['ar-EG', 'ar', ['ar']],
] as const
for (const [locale, spoken, loaded] of LONG ? [...SOME, ...OTHERS] : SOME) {
  test(`${locale} gets ${spoken}, and loads no other catalogue`, async () => {
    const page = await visit('/favicon.svg', { locale })
    const requested = new Set<string>()
    page.on('request', (request) => {
      const [, name] = /\/assets\/(es|pt|de|fr|zh|ar)-/.exec(request.url()) ?? []
      if (name) requested.add(name)
    })
    await page.goto(app().url)
    await page.getByRole('heading', { name: wordsOf(spoken, 'inbox_empty') }).waitFor()
    await page.locator('.status-dot.live').waitFor()
    expect([...requested]).toStrictEqual(loaded)
  })
}

function wordsOf(language: string, name: string): string {
  const file = new URL(`../../src/shared/locales/${language}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8'))[name]
}

test('the selected language applies at once, takes precedence over the browser’s, and is stored; it is reverted if its catalogue cannot be loaded', async () => {
  allow({ complaint: /ERR_FAILED/ })
  const page = await openIn('en')
  await page.route('**/assets/de-*.js', (route) => route.abort())
  const failed = page.waitForEvent('requestfailed')
  await page.getByLabel('Language').selectOption('de')
  await failed
  await expect.poll(() => page.getByLabel('Language').inputValue()).toBe('en')
  await page.getByRole('heading', { name: 'Messages' }).waitFor()
  await page.getByLabel('Language').selectOption('fr')
  await page.getByLabel('Langue').selectOption('ar')
  await page.getByRole('heading', { name: 'الرسائل' }).waitFor()
  await expect.poll(() => announced(page)).toStrictEqual(['ar', 'rtl'])
  await page.reload()
  await page.getByRole('heading', { name: 'الرسائل' }).waitFor()
  await expect.poll(() => announced(page)).toStrictEqual(['ar', 'rtl'])

  // lang and dir are set before the first paint, whatever the server wrote.
  await page.route('**/assets/inbox-*.js', (route) => route.abort())
  await page.reload()
  expect(await announced(page)).toStrictEqual(['ar', 'rtl'])
  await page.unroute('**/assets/inbox-*.js')
  await page.goto(`${app().url}/key`)
  await page.getByRole('heading', { name: 'مفتاحك' }).waitFor()
  await page.getByLabel('اللغة').selectOption('en')
  await page.getByRole('heading', { name: 'Your key' }).waitFor()
  await expect.poll(() => announced(page)).toStrictEqual(['en', 'ltr'])
})

test('if a catalogue cannot be loaded the page stays in English, with a notice', async () => {
  allow({ complaint: /ERR_FAILED/ })
  const page = await visit('/favicon.svg', { locale: 'ar' })
  await page.route('**/assets/ar-*.js', (route) => route.abort())
  await page.goto(app().url)
  await page.getByText('Live – new mail appears automatically').waitFor()
  await expect.poll(() => announced(page)).toStrictEqual(['en', 'ltr'])
  await expect.poll(() => page.getByLabel('Language').inputValue()).toBe('en')
})
