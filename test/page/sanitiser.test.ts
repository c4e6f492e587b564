import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sharedBrowser } from '../kit/page/browser.ts'
import { openSanitiser } from '../kit/page/layers.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined

// What the sanitizer preserves. That it removes everything hostile is tested in hostile.test.ts.
let browser: Browser
let sanitiser: Awaited<ReturnType<typeof openSanitiser>>
beforeAll(async () => {
  browser = await sharedBrowser()
  sanitiser = await openSanitiser(browser)
})
afterAll(async () => {
  await sanitiser.close()
})

const PICTURE = 'data:image/png;base64,iVBORw0KGgo='
const FAR = 'https://far.test/a.png'
const leaveLink = (url: string) =>
  `href="http://site.test/leave#${encodeURIComponent(url)}" target="_blank" rel="noopener noreferrer"`

interface Case {
  html: string
  /** What is left of the body. */
  left: string
  remoteImages?: number
  options?: { remoteImages?: boolean; pictures?: Record<string, string> }
}

function table(cases: Record<string, Case>): void {
  for (const [name, { html, left, remoteImages = 0, options = {} }] of Object.entries(cases)) {
    test(name, async () => {
      const found = await sanitiser.sanitise(html, options)
      expect([found.body, found.remoteImages]).toStrictEqual([left, remoteImages])
    })
  }
}

describe('the layout', () => {
  table({
    'is preserved in tables': {
      html: '<table width="600" bgcolor="#fff" cellpadding="0"><tr><td align="center" valign="top" colspan="2">x</td></tr></table>',
      left: '<table width="600" bgcolor="#fff" cellpadding="0"><tbody><tr><td align="center" valign="top" colspan="2">x</td></tr></tbody></table>',
    },
    'is preserved in style attributes': {
      html: '<p style="color:red;font:bold 12px Arial!important;position:absolute">x</p>',
      left: '<p style="color: red; position: absolute; font: bold 12px Arial !important;">x</p>',
    },
    'is preserved for right-to-left text': {
      html: '<div dir="rtl" lang="ar">x</div>',
      left: '<div dir="rtl" lang="ar">x</div>',
    },
    'loses forms, but not their content': {
      html: '<form action="http://a.test"><label>Name</label> <input value="x"><button>Send</button></form>',
      left: 'Name Send',
    },
    'loses elements that cover the rest': {
      html: '<div style="position:fixed;top:0;color:red">x</div>',
      left: '<div style="top: 0px; color: red;">x</div>',
    },
    'loses media': {
      html: '<video src="http://a.test" poster="http://a.test/p">x</video>y',
      left: 'y',
    },
    'loses drawings': { html: '<svg><circle r="9"/></svg>y', left: 'y' },
  })
  test('is preserved in style sheets, without rules that load or cover anything', async () => {
    const html = `<html><head><title>T</title><style media="screen">
      @import url(http://a.test/a.css); @font-face { font-family: f; src: url(http://a.test/f) }
      .a { color: red } .b:hover > p { background: url(http://a.test/b.png) blue } .c { position: fixed }
      @media (max-width: 600px) { .w { width: 100% !important } }
      @media (prefers-color-scheme: dark) { .a { color: white } }
      @supports (color: red) { .s { color: red } } @keyframes k { from { top: 0 } }
      .d { --x: 1px; width: var(--x) } .e::before { content: "\\3c/style>" }
    </style></head><body class="a"><p class="w">x</p></body></html>`
    const found = await sanitiser.sanitise(html)
    expect(found.head.replaceAll(/\s+/g, ' ')).toBe(
      '<style media="screen">.a { color: red; } .b:hover > p { background: none blue; } @media (max-width: 600px) { .w { width: 100% !important; } } .e::before { content: "\\3c /style>"; }</style>',
    )
    expect(found.remoteImages).toBe(1)
  })
})

describe('a link', () => {
  table({
    'points to the leave page': {
      html: '<a href="https://a.test/?b=c&amp;d=e#f">x</a>',
      left: `<a ${leaveLink('https://a.test/?b=c&d=e#f')}>x</a>`,
    },
    'opens in a new tab, whatever its target': {
      html: '<a href="https://a.test" target="_top" rel="opener">x</a>',
      left: `<a ${leaveLink('https://a.test')}>x</a>`,
    },
    'of an image map points there too': {
      html: '<map name="m"><area shape="rect" coords="0,0,9,9" href="https://a.test"></map>',
      left: `<map name="m"><area shape="rect" coords="0,0,9,9" ${leaveLink('https://a.test')}></map>`,
    },
    'without a scheme is parsed like in a browser': {
      html: '<a href="//a.test/b">x</a>',
      left: `<a ${leaveLink('//a.test/b')}>x</a>`,
    },
    'to an email address points to the leave page': {
      html: '<a href="mailto:ann@a.test?subject=x">x</a>',
      left: `<a ${leaveLink('mailto:ann@a.test?subject=x')}>x</a>`,
    },
    'to a script leads nowhere': { html: '<a href="javascript:alert(1)">x</a>', left: '<a>x</a>' },
    'within the page leads nowhere': { html: '<a href="#top">x</a>', left: '<a>x</a>' },
    'to our own site leads nowhere': { html: '<a href="/api/domains">x</a>', left: '<a>x</a>' },
  })
})

describe('an image', () => {
  table({
    'on another host is counted and not loaded': {
      html: `<img src="${FAR}" width="9" alt="A"><img src="http://far.test/b.gif">`,
      left: '<img width="9" alt="A"><img>',
      remoteImages: 2,
    },
    'is counted once, however often it is used': {
      html: `<img src="${FAR}"><td background="${FAR}"></td><p style="background:url('${FAR}')"></p>`,
      left: '<img><p style="background: none;"></p>',
      remoteImages: 1,
    },
    'is loaded on request': {
      html: `<img src="${FAR}"><p style="background:url('${FAR}') red"></p><table background="//far.test/b"></table>`,
      left: `<img src="${FAR}"><p style="background: url(&quot;${FAR}&quot;) red;"></p><table background="https://far.test/b"></table>`,
      remoteImages: 2,
      options: { remoteImages: true },
    },
    'of a style is loaded from the URL that was checked, however it was written': {
      html: [
        '//far.test/a',
        'HTTPS://far.test/a',
        ' https://far.test/a ',
        'https:/far.test/a',
        'https:far.test/a',
      ]
        .map((url) => `<p style="background:url('${url}')"></p>`)
        .join(''),
      left: '<p style="background: url(&quot;https://far.test/a&quot;);"></p>'.repeat(5),
      remoteImages: 1,
      options: { remoteImages: true },
    },
    'of a style sheet is too': {
      html: '<body><style>p{list-style:url(//far.test/a)!important}</style></body>',
      left: '<style>p { list-style: url("https://far.test/a") !important; }</style>',
      remoteImages: 1,
      options: { remoteImages: true },
    },
    'with several sizes is counted, and never loaded': {
      html: '<img srcset="https://far.test/1 1x, https://far.test/2 2x">',
      left: '<img>',
      remoteImages: 1,
      options: { remoteImages: true },
    },
    'that a style uses for anything but a background is not loaded': {
      html: `<p style="cursor:url(${FAR}),auto;filter:url(${FAR});color:red">x</p>`,
      left: '<p style="color: red;">x</p>',
      remoteImages: 1,
      options: { remoteImages: true },
    },
    'embedded in the mail is shown': {
      html: '<img src="cid:a%40b.test" alt="A">',
      left: `<img src="${PICTURE}" alt="A">`,
      options: { pictures: { 'a@b.test': PICTURE } },
    },
    'embedded in the mail is shown as a background': {
      html: '<p style="background:url(cid:a@b.test)"></p>',
      left: `<p style="background: url(&quot;${PICTURE}&quot;);"></p>`,
      options: { pictures: { 'a@b.test': PICTURE } },
    },
    'that did not come is not': { html: '<img src="cid:other">', left: '<img>' },
    'within the text is shown': { html: `<img src="${PICTURE}">`, left: `<img src="${PICTURE}">` },
    'embedded as SVG is not shown': {
      html: '<img src="data:image/svg+xml,<svg/>"><img src="data:text/html,x">',
      left: '<img><img>',
    },
    'of our own site is not': { html: '<img src="/favicon.svg"><img src="x">', left: '<img><img>' },
    'of our own host is never loaded, because the copy that is printed has our origin': {
      html: '<img src="http://site.test:8025/a.png"><p style="background:url(https://site.test/b)"></p>',
      left: '<img><p style="background: none;"></p>',
      options: { remoteImages: true },
    },
  })
})

describe('mail that is nested deeply', () => {
  const BYTES = 60_000
  // As a factor of the time that paragraphs take: most would take much more if they were not split.
  const MAX_COST = 20
  const ROUNDS = 3

  async function msOf(html: string): Promise<number> {
    return (await sanitiser.sanitise(html)).ms
  }

  /** The least of several rounds that alternate. */
  async function costOf(html: string): Promise<number> {
    const paragraphs = '<p>x</p>'.repeat(html.length / 8)
    let [least, usual] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (let round = 0; round < ROUNDS; round += 1) {
      least = Math.min(least, await msOf(html))
      usual = Math.min(usual, await msOf(paragraphs))
    }
    return least / usual
  }

  for (const { piece, length = BYTES, maxCost = MAX_COST, isSlow = false } of [
    { piece: '<f>' },
    { piece: '<object>', maxCost: 50, isSlow: true },
    { piece: '<a><div>', isSlow: true },
    { piece: '<b><i><div></b>', isSlow: true },
    { piece: '<template></template>' },
    { piece: '<template><f>' },
    { piece: '<f title="</f>"><!--</f>-->' },
    { piece: '<frameset>', maxCost: 4 },
    // Takes cubic time in browsers.
    { piece: '<p><b a=#>', length: 4_000 },
    { piece: '<h1><b a=#></h1>', length: 4_000 },
  ]) {
    test.runIf(LONG || !isSlow)(
      `takes about as long as other mail of its size: ${piece}`,
      async () => {
        const count = Math.ceil(length / piece.length)
        const html = Array.from({ length: count }, (_, at) => piece.replace('#', `${at}`)).join('')
        expect(await costOf(html)).toBeLessThan(maxCost)
      },
      60_000,
    )
  }

  const nested = (depth: number, inner: string) =>
    `${'<div>'.repeat(depth)}${inner}${'</div>'.repeat(depth)}`

  test('is unchanged up to 150 levels', async () => {
    const html = nested(150, '<p>x</p>')
    expect((await sanitiser.sanitise(html)).body).toBe(html)
  })

  test('cannot hide members of its document and forms', async () => {
    const names = ['parentNode', 'localName', 'write', 'close', 'documentElement']
    const inputs = names.map((name) => `<form><input name=${name}></form><img name=${name}>`)
    const { body } = await sanitiser.sanitise(nested(1_000, `${inputs.join('')}x`))
    expect(body.replace(/<[^>]*>/g, '')).toBe('x')
  })

  test('keeps its text and links', async () => {
    const link = '<a href="https://a.test">x</a>&amp;'
    const { body } = await sanitiser.sanitise(nested(1_000, link.repeat(200)))
    const linked = `<a ${leaveLink('https://a.test')}>x</a>&amp;`
    expect(body.replace(/<\/?div>/g, '')).toBe(linked.repeat(200))
  })

  for (const [name, start, end] of [
    ['comments', '<!--', '-->'],
    ['style sheets', '<style>', '</style>'],
    ['attributes', '<p title="', '"></p>'],
  ] as const) {
    test(`shows nothing of its ${name}`, async () => {
      const html = nested(1_000, `${start}${'<i>secret</i>'.repeat(200)}${end}`)
      const { body } = await sanitiser.sanitise(html)
      expect(body.replace(/<[^>]*>/g, '')).toBe('')
    })
  }
})
