import { logged, withCanary } from './canary.ts'

// Hostile content in all other parts of a mail that the page displays.
const RUNS = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
const LOADS = '<img src=http://canary.test/field>'
const BOTH = `${RUNS}${LOADS}\${alert(1)}{{alert(1)}}`

interface MailParts {
  subject?: string
  from?: string
  headers?: readonly string[]
  body?: string
}

/** Mails with hostile fields; each subject starts with the name. */
export const HOSTILE_MAILS: Record<string, MailParts> = {
  'a subject': { subject: BOTH },
  'a subject in disguise': { subject: word(BOTH) },
  'a subject with a line break': {
    subject: word('x\r\nBcc: a@b.test\r\n\r\n<script>alert(1)</script>'),
  },
  'a subject that turns around': {
    subject: word('\u202e\u2066<script>alert(1)</script>\u0000\u001b[31m'),
  },
  'a sender': { from: `"${BOTH.replaceAll('"', '\\"')}" <x@evil.test>` },
  'a sender in disguise': { from: `${word(BOTH)} <x@evil.test>` },
  'a sender with another address': { from: `${word('"admin@bank.test"')} <x@evil.test>` },
  'a sender without a host': { from: `<${RUNS}>` },
  'a sender in markup': { from: '"<svg onload=alert(1)>"@evil.test' },
  recipients: {
    headers: [
      `To: ${word(BOTH)} <a@b.test>, "javascript:alert(1)" <c@d.test>`,
      `Cc: "${LOADS}" <e@f.test>`,
    ],
  },
  'where answers go': { headers: [`Reply-To: ${word(BOTH)} <javascript:alert(1)@b.test>`] },
  headers: {
    headers: [
      `X-Evil: ${BOTH}`,
      `X-<script>alert(1)</script>: x`,
      'X-Link: javascript:alert(1)',
      '__proto__: x',
      'constructor: x',
      `Message-ID: <${RUNS}@x>`,
    ],
  },
  'a date': { headers: [`Date: ${BOTH}`] },
  'file names': file(`filename="${RUNS.replaceAll('"', '\\"')}.html"`, 'text/html'),
  'a file name in pieces': file(
    `filename*0*=utf-8''%3Cimg%20src%3Dx; filename*1*=%20onerror%3Dalert(1)%3E.svg`,
    'image/svg+xml',
  ),
  'a file of a hostile kind': file('filename=x.png', `"><script>alert(1)</script>/x`),
  'a picture that is a page': inside('text/html', '<script>alert(1)</script>'),
  'a picture that is a drawing': inside(
    'image/svg+xml',
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><image href="http://canary.test/svg"/></svg>',
  ),
  'a picture that is not one': inside('image/png', '<script>alert(1)</script>'),
  'a picture whose name breaks out': inside('image/png', 'x', `x"onerror=alert(1)//`),
  'plain text': { body: BOTH },
  'a link with a quote': {
    body: `http://canary.test/"onmouseover="alert(1) http://canary.test/'><img src=x onerror=alert(1)>`,
  },
  'a link with markup': {
    body: 'http://canary.test/<script>alert(1)</script> <http://canary.test/"><svg/onload=alert(1)>>',
  },
  'links that are none': {
    body: 'javascript:alert(1) JavaScript://canary.test/%0aalert(1) data:text/html,<script>alert(1)</script> https://a.test/`alert(1)`',
  },
  'a link without end': { body: `http://canary.test/${'a"b'.repeat(2_000)}` },
  'text that turns around': { body: '\u202ehttp://canary.test/\u202c\u2067gnp.exe\u2069' },
  'a code': {
    body: 'Your code is <img src=x onerror=alert(1)> and your verification code: 12"><svg/onload=alert(1)>34',
  },
  'a link to confirm': {
    body: 'Confirm your address: javascript:alert(1)//https://canary.test/verify?x="><script>alert(1)</script>',
  },
}

/** The raw mail. */
export function hostileMail(name: string, number: number, canary = logged): string {
  const {
    subject = '',
    from = 'Eve <eve@evil.test>',
    headers = [],
    body = 'Nothing here.',
  } = HOSTILE_MAILS[name] ?? {}
  const typed = headers.some((line) => /^content-type:/i.test(line))
  const lines = [
    `From: ${from}`,
    `Subject: Letter ${number} ${subject}`,
    'MIME-Version: 1.0',
    ...(typed ? [] : ['Content-Type: text/plain; charset=utf-8']),
    ...headers,
    '',
    body,
    '',
  ]
  return withCanary(lines.join('\r\n'), number, canary)
}

/** A mail with HTML only. */
export function htmlMail(payload: string, number: number, canary = logged): string {
  const html = withCanary(payload, number, canary)
  return [
    'From: Eve <eve@evil.test>',
    `Subject: Letter ${number}`,
    'MIME-Version: 1.0',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(html).toString('base64').replace(/.{76}/g, '$&\r\n'),
    '',
  ].join('\r\n')
}

function word(text: string): string {
  return `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
}

function file(disposition: string, type: string): MailParts {
  return parts([
    `Content-Type: ${type}`,
    `Content-Disposition: attachment; ${disposition}`,
    '',
    RUNS,
  ])
}

/** HTML with an embedded image. */
function inside(type: string, bytes: string, id = 'pic@evil.test'): MailParts {
  return parts(
    ['Content-Type: text/html', '', `<p>Look:</p><img src="cid:${id}" alt="${RUNS}">`],
    [
      `Content-Type: ${type}`,
      `Content-ID: <${id}>`,
      'Content-Disposition: inline; filename=x.png',
      '',
      bytes,
    ],
  )
}

function parts(...all: string[][]): MailParts {
  return {
    headers: ['Content-Type: multipart/related; boundary=edge'],
    body: [...all.flatMap((part) => ['--edge', ...part]), '--edge--'].join('\r\n'),
  }
}
