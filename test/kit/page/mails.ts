import { crc32, deflateSync } from 'node:zlib'

// Typical mails of services, for tests and views of the reader.

interface Head {
  from?: string
  subject?: string
  more?: readonly string[]
}

const head = ({ from = 'Acme <hello@acme.test>', subject = 'Hello', more = [] }: Head) => [
  `From: ${from}`,
  'To: "You" <you@box.test>',
  `Subject: ${subject}`,
  'MIME-Version: 1.0',
  ...more,
]

export function textMail(text: string, about: Head = {}): string {
  return [...head(about), 'Content-Type: text/plain; charset=utf-8', '', text, ''].join('\r\n')
}

export function htmlMail(html: string, about: Head = {}): string {
  return [...head(about), 'Content-Type: text/html; charset=utf-8', '', html, ''].join('\r\n')
}

interface File {
  name: string
  type: string
  bytes: Uint8Array
  /** The content ID that the HTML refers to. */
  id?: string
}

export function mailWithFiles(html: string, files: readonly File[], about: Head = {}): string {
  return [
    ...head(about),
    'Content-Type: multipart/related; boundary=edge',
    '',
    '--edge',
    'Content-Type: text/html; charset=utf-8',
    '',
    html,
    ...files.flatMap(({ name, type, bytes, id }) => [
      '--edge',
      `Content-Type: ${type}`,
      'Content-Transfer-Encoding: base64',
      `Content-Disposition: ${id ? 'inline' : 'attachment'}; filename="${name}"`,
      ...(id ? [`Content-ID: <${id}>`] : []),
      '',
      Buffer.from(bytes).toString('base64').replace(/.{76}/g, '$&\r\n'),
    ]),
    '--edge--',
    '',
  ].join('\r\n')
}

/** An image of one color. */
export function png(width: number, height: number, colour: [number, number, number]): Buffer {
  const row = Buffer.from([0, ...Array.from({ length: width }, () => colour).flat()])
  const size = Buffer.alloc(13)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  size.set([8, 2, 0, 0, 0], 8)
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', size),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, bytes: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), bytes])
  const sizes = Buffer.alloc(8)
  sizes.writeUInt32BE(bytes.length, 0)
  sizes.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([sizes.subarray(0, 4), named, sizes.subarray(4)])
}

/** A mail with every feature. */
export function welcomeMail(): string {
  const html = `<html><head><style>
    .paper { background: #fff; font-family: Georgia, serif } .go { background: #0b6b63; color: #fff; padding: 12px 24px; text-decoration: none }
    </style></head><body style="margin:0;background:#eef2f0"><table width="100%"><tr><td align="center">
    <table class="paper" style="max-width:560px;margin:24px"><tr><td style="padding:32px">
    <img src="cid:mark@acme.test" width="120" height="24" alt="Acme"><h1>Confirm your address</h1>
    <p>Your verification code is <b>482913</b>. It is valid for ten minutes.</p>
    <p><a class="go" href="https://login.acme.test/verify?t=1">Confirm your email address</a></p>
    <img src="https://img.acme.test/hero.png" width="300" height="80" alt="A view of the sea">
    <p style="color:#666">You did not ask for this? Then do nothing.</p>
    <img src="https://img.acme.test/open.gif" width="1" height="1" alt=""></td></tr></table></td></tr></table></body></html>`
  const text = (words: string) => new TextEncoder().encode(words)
  return mailWithFiles(
    html,
    [
      {
        name: 'mark.png',
        type: 'image/png',
        bytes: png(120, 24, [11, 107, 99]),
        id: 'mark@acme.test',
      },
      { name: 'terms.pdf', type: 'application/pdf', bytes: text('%PDF-1.4'.padEnd(81_000)) },
      { name: 'invoice.pdf.exe', type: 'application/octet-stream', bytes: text('MZ') },
    ],
    { subject: 'Confirm your address at Acme' },
  )
}

/** A long newsletter with remote images, as most are. */
export function newsletterMail(): string {
  const article = (title: string, at: number) =>
    `<tr><td style="padding:16px 32px"><img src="https://img.weekly.test/${at}.jpg" width="496" alt="${title}" style="width:100%;height:auto">
    <h2 style="font:700 20px Georgia,serif;margin:16px 0 8px">${title}</h2><p style="font:16px/1.6 Georgia,serif;margin:0 0 12px">${'A paragraph of some length about what happened this week and why it matters to you. '.repeat(4)}</p>
    <a href="https://click.weekly.test/${at}" style="color:#0b6b63">Read more</a></td></tr>`
  const titles = ['Trains that run on time', 'What the river brought', 'Three recipes for autumn']
  return htmlMail(
    `<html><body style="margin:0;background:#f2efe9"><table width="100%" cellpadding="0"><tr><td align="center"><table width="560" style="max-width:560px;background:#fff" cellpadding="0">
    <tr><td style="padding:24px 32px;background:#23303a;color:#fff;font:700 28px Georgia,serif">The Weekly</td></tr>
    <tr><td><img src="https://img.weekly.test/hero.jpg" width="560" height="224" alt="A harbour at dawn" style="display:block;max-width:100%"></td></tr>
    ${titles.map(article).join('')}
    <tr><td style="padding:24px 32px;color:#777;font:13px sans-serif">You receive this because you subscribed. <a href="http://weekly.test/unsubscribe?u=1">weekly.test/unsubscribe</a></td></tr></table></td></tr></table></body></html>`,
    {
      from: 'The Weekly <news@weekly.test>',
      subject: 'Trains, a river and three recipes for autumn evenings',
    },
  )
}
