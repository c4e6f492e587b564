import { describe, expect, test } from 'vitest'
import { languagesOf } from './languages.ts'
import { findLinks } from './links.ts'
import { type VisibleText, visibleTextOfHtml, visibleTextOfPlain } from './visible-text.ts'

const inVisible = (texts: VisibleText[], listUnsubscribe = '') =>
  findLinks(texts, listUnsubscribe, languagesOf(texts.map(({ text }) => text)))
const inHtml = (html: string, listUnsubscribe = '') =>
  inVisible([visibleTextOfHtml(html)], listUnsubscribe)
const inText = (text: string) => inVisible([visibleTextOfPlain(text)])

describe('the URL of a link', () => {
  for (const [name, href, url, host] of [
    ['a plain one', 'https://a.test/x', 'https://a.test/x', 'a.test'],
    ['with a port', 'http://a.test:8080', 'http://a.test:8080/', 'a.test:8080'],
    [
      'a user that looks like a host',
      'https://bank.test@evil.test/',
      'https://evil.test/',
      'evil.test',
    ],
    ['a user and a password', 'https://bank.test:x@evil.test/', 'https://evil.test/', 'evil.test'],
    ['backslashes', 'https:\\\\evil.test\\@bank.test', 'https://evil.test/@bank.test', 'evil.test'],
    [
      'another script',
      'https://bänk.test/ä',
      'https://xn--bnk-qla.test/%C3%A4',
      'xn--bnk-qla.test',
    ],
    ['look-alikes', 'https://аpple.test', 'https://xn--pple-43d.test/', 'xn--pple-43d.test'],
    ['full-width letters', 'https://ｅｖｉｌ.test', 'https://evil.test/', 'evil.test'],
    ['capitals', 'HTTPS://A.TEST/X', 'https://a.test/X', 'a.test'],
    ['line breaks inside', 'https://a.te\nst/\tx', 'https://a.test/x', 'a.test'],
    ['no scheme', '//a.test/x', 'https://a.test/x', 'a.test'],
    ['entities', 'https://a.test/?a=1&amp;b=2', 'https://a.test/?a=1&b=2', 'a.test'],
    ['a number for an address', 'http://3232235777/', 'http://192.168.1.1/', '192.168.1.1'],
  ] as const) {
    test(name, () => {
      expect(inHtml(`<a href="${href}">x</a>`)).toEqual([{ url, text: 'x', host, kind: 'other' }])
    })
  }

  for (const href of [
    ...['javascript:alert(1)', 'java\nscript:alert(1)', 'data:text/html,x', 'mailto:a@b.test'],
    ...['tel:123', 'ftp://a.test', '/relative', '#here', '', ' ', 'https://', 'http://[', 'cid:x'],
    ...['https://a.test/'.padEnd(5_000, 'x'), 'https://exa mple.test/', 'vbscript:x', 'file:///x'],
  ]) {
    test(`${JSON.stringify(href.slice(0, 30))} is not a link`, () => {
      expect(inHtml(`<a href="${href}">Verify</a>`)).toEqual([])
    })
  }
})

describe('the text of a link', () => {
  for (const [name, inside, text] of [
    ['is its content', ' Verify\n <b>me</b> ', 'Verify me'],
    ['is the alternative text of its image', '<img src=x alt="Verify me">', 'Verify me'],
    ['may be empty', '<img src=x>', ''],
    ['is empty if it is the URL itself', 'https://a.test/verify', ''],
    ['may be another URL', 'https://bank.test/', 'https://bank.test/'],
    ['is truncated', 'word '.repeat(100), 'word '.repeat(40).trim()],
  ] as const) {
    test(name, () => {
      const [link] = inHtml(`<a href="https://a.test/verify">${inside}</a>`)
      expect(link).toMatchObject({ text, host: 'a.test', kind: 'verify' })
    })
  }
})

describe('the kind of a link', () => {
  for (const [name, html, kind] of [
    ['is found in its text', '<a href="https://a.test/c/1">Confirm your email</a>', 'verify'],
    ['is found in its path', '<a href="https://a.test/verify-email?t=1">Continue</a>', 'verify'],
    ['is found in its query', '<a href="https://a.test/?mode=resetPassword&x=1">Go</a>', 'reset'],
    [
      'is found in the sentence',
      'Click <a href="https://a.test/c">here</a> to unsubscribe.',
      'unsubscribe',
    ],
    [
      'is found in the line above',
      '<p>Sign in with this link</p><a href="https://a.test/c"></a>',
      'sign_in',
    ],
    [
      'comes from the text before the path',
      '<a href="https://a.test/login">Reset password</a>',
      'reset',
    ],
    [
      'is not taken from the sentence if the text is specific',
      'Verify it. <a href="https://a.test/c">Our shop</a>',
      'other',
    ],
    ['is other for an order', '<a href="https://a.test/orders/confirm/1">View it</a>', 'other'],
    ['is other for a help page', '<a href="https://a.test/help/login">Read more</a>', 'other'],
    ['in Spanish', '<a href="https://a.test/c">Confirmar correo</a>', 'verify'],
    ['in Portuguese', '<a href="https://a.test/c">Redefinir senha</a>', 'reset'],
    ['in French', '<a href="https://a.test/c">Se désabonner</a>', 'unsubscribe'],
    ['in German', '<a href="https://a.test/c">Jetzt anmelden</a>', 'sign_in'],
    ['in Russian', '<a href="https://a.test/c">Подтвердить почту</a>', 'verify'],
    ['in Chinese', '<a href="https://a.test/c">重置密码</a>', 'reset'],
    ['in Japanese', '配信停止は<a href="https://a.test/c">こちら</a>', 'unsubscribe'],
    ['in Arabic', '<a href="https://a.test/c">تسجيل الدخول</a>', 'sign_in'],
    ['in Vietnamese', '<a href="https://a.test/c">Xác nhận email</a>', 'verify'],
  ] as const) {
    test(name, () => expect(inHtml(html).map((link) => link.kind)).toEqual([kind]))
  }
})

describe('a link in plain text', () => {
  for (const [name, text, url] of [
    ['ends before the period', 'See https://a.test/x.', 'https://a.test/x'],
    ['ends before the bracket around it', '(see https://a.test/x)', 'https://a.test/x'],
    ['keeps balanced brackets', 'https://a.test/x_(y)', 'https://a.test/x_(y)'],
    ['ends at an angle bracket', '<https://a.test/x>', 'https://a.test/x'],
    ['ends before Chinese text', 'https://a.test/x，请点击', 'https://a.test/x'],
    ['ends before Japanese text', 'https://a.test/xをクリック', 'https://a.test/x'],
    ['may have a host in any script', 'https://例え.test/x', 'https://xn--r8jz45g.test/x'],
    ['keeps query and fragment', 'https://a.test/?a=1&b=%20#c', 'https://a.test/?a=1&b=%20#c'],
  ] as const) {
    test(name, () => expect(inText(text).map((link) => link.url)).toEqual([url]))
  }
})

describe('the list of links', () => {
  test('is sorted by kind, unsubscribe links last', () => {
    const kinds = ['Unsubscribe', 'Our shop', 'Reset password', 'Sign in', 'Verify', 'Blog'].map(
      (text, at) => `<a href="https://a.test/${at}">${text}</a>`,
    )
    expect(inHtml(kinds.join(' ')).map(({ text }) => text)).toEqual([
      ...['Verify', 'Sign in', 'Reset password', 'Our shop', 'Blog', 'Unsubscribe'],
    ])
  })

  test('has each URL once, with the best text and kind', () => {
    const html =
      '<a href="https://a.test/c"><img src="x"></a> <a href="https://a.test/c">Verify me</a>'
    const text = visibleTextOfPlain('Shop: https://a.test/c')
    expect(inVisible([visibleTextOfHtml(html), text])).toEqual([
      { url: 'https://a.test/c', text: 'Verify me', host: 'a.test', kind: 'verify' },
    ])
  })

  test('includes List-Unsubscribe URLs, but no mailto', () => {
    const header = '<mailto:out@a.test>, <https://a.test/o?u=1>'
    expect(inHtml('', header)).toEqual([
      { url: 'https://a.test/o?u=1', text: '', host: 'a.test', kind: 'unsubscribe' },
    ])
  })

  test('has at most a hundred links, the most important first', () => {
    const many = Array.from({ length: 400 }, (_, at) => `<a href="https://a.test/${at}">x</a>`)
    const links = inHtml(`${many.join(' ')}<a href="https://a.test/v">Verify</a>`)
    expect(links).toHaveLength(100)
    expect(links[0]).toMatchObject({ kind: 'verify' })
  })
})
