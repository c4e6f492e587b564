import { readHead } from '../../../../src/mime/header-summary.ts'
import { checkSender } from '../../../../src/sender-auth/check.ts'
import {
  type CheckRequest,
  type CheckResponse,
  type DnsAnswer,
  type DnsAnswers,
  queryKey,
} from '../../../../src/sender-auth/job.ts'
import { CHECK_RESULTS } from '../../../../src/shared/mail.ts'
import { scanned } from '../../mail/scan.ts'
import { bytesOf } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

/** Records, one per line: type, name, values. */
const KEYS = [
  'TXT s1._domainkey.sender.test|v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDIexbCQ6xoK7JBDMx3jV5X3XIDyqLi0sefMAOG' +
    'NwOgh2VXavtkpvMY2+faAPnVMMTJzv6FF1cDsaV7Sosk1H4CVxCMvuOZ6PNv4t+OF8L2p5eQLgO/JOzzFPttU8zkZzV4AmT7dP2jZSWfwxc2AWIBVK7EcVd2' +
    '4CU+WClXsTcCrwIDAQAB',
  'TXT ed._domainkey.sender.test|v=DKIM1; k=ed25519; p=MBnJsMwLZRhW7l8IB5CpC3SukKYUZ34QkVZ2GpG6gcg=',
]
const ZONE = [
  'TXT sender.test|other|v=spf1 a mx include:more.test exists:%{i}._spf.%{d2} ip4:198.51.100.0/24 ?all',
  'TXT more.test|v=spf1 ip6:2001:db8::/32 ptr redirect=last.test',
  'TXT last.test|v=spf1 ip4:192.0.2.0/24 -all exp=why.test',
  ...[
    'TXT _dmarc.sender.test|v=DMARC1; p=reject; sp=none; adkim=s; aspf=r; pct=50; rua=mailto:a@b',
  ],
  ...['A sender.test|198.51.100.7', 'MX sender.test|10 mx.sender.test', 'AAAA mx.sender.test|::1'],
  ...['CNAME alias.test|sender.test', 'PTR 1.2.0.192.in-addr.arpa|mx.sender.test'],
  ...['TXT bad.test|!SERVFAIL', ...KEYS],
].join('\n')
const ENVELOPE = '192.0.2.1 mail.sender.test ann@sender.test'
const AUTHOR = 'ann@sender.test'
const [SUBJECT, TEXT] = ['Hello', 'Private words.']
const MAIL = `From: Ann <${AUTHOR}>\r\nTo: you@box.test\r\nSubject: ${SUBJECT}\r\n\r\n${TEXT}\r\n`
// Their private keys are lost: what passes has been signed.
const SIGNED = [
  'DKIM-Signature: v=1; a=ed25519-sha256; c=simple/simple; d=sender.test;\r\n' +
    ' h=Subject: To: From; q=dns/txt; s=ed; t=1795084950;\r\n bh=dpDftkSPfGtVEWj4n/anS6qgeZzgOyPa6VXtiHdPFME=;\r\n' +
    ' b=5uVYTP8GK326fEbObG+sBYBijj3bXyamJ19PL9ZJP9+24r86UNRYx/+TK7Qmc6uxlqvytzcNu\r\n f5xDh2tEZA+Cw==\r\n',
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.test;\r\n' +
    ' h=Subject: To: From; q=dns/txt; s=s1; t=1795084951;\r\n bh=dpDftkSPfGtVEWj4n/anS6qgeZzgOyPa6VXtiHdPFME=;\r\n' +
    ' b=KoddKhMKDE5MmUND/aLXC+w7mNWsNHTXk2FYR+2swK5g3tqF82qZU7Bgb6zc/ttoVvN5YJFnS\r\n' +
    ' fTZ7MgDoXQvgM71x+x0UkLMfU7fOWAkfm/crvLvmYFAzgr2xNeJ9zt71LUwHskc1Dlt6RVfe1W9\r\n 7Svbzd1lgelx7fRQ6sJ9It4=\r\n',
].map((signature) => signature + MAIL)
const RECEIVED_AT = new Date(1_795_084_960_000)

/** As in the service, where more are a permerror. */
const MAX_QUERIES = 60

/** DNS records, an empty line, the client with its HELO and MAIL FROM, and a mail: SPF, DKIM and DMARC. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    ...SIGNED.map((mail) => `${ZONE}\n\n${ENVELOPE}\n${mail}`),
    `${KEYS.join('\n')}\n\n2001:db8::1 bad.test \n${SIGNED[0]?.split('From: ', 1)}${SIGNED[1]}`,
    `${ZONE}\n\n198.51.100.9 alias.test x@sender.test\n${MAIL}`,
    `${ZONE}\n\n203.0.113.1 x bob@bad.test\n${MAIL.replace('sender.test', 'news.sender.test')}`,
  ]),
  tokens: (
    '\n|\n\n|\r\n|!SERVFAIL|!ENOTFOUND|v=spf1 | include:| redirect=| exp=| exists:| a:| mx:| ptr| ip4:| ip6:|/0|//129| -all| +all|' +
    '%{s}|%{l1r-}|%{h}|%%|%{p}|%{|v=DMARC1; |p=reject|p=none|np=|sp=|adkim=s|aspf=s|v=DKIM1; |k=rsa|k=ed25519|p=|h=sha1|n=|t=y|t=s|' +
    'd=|s=|i=@|b=|bh=|l=0|x=1|c=simple|a=rsa-sha1|z=|From: |Subject: |DKIM-Signature: |TXT |CNAME |sender.test|other.test|co.uk|' +
    '<a@b.test>|_dmarc.|..|\0|é|xn--|;|=|:|"|::ffff:192.0.2.1'
  )
    .split('|')
    .concat('|'),
  maxBytes: 8 * 1024,
  async run(input) {
    const { zone, ip, helo, mailFrom, raw } = read(input.toString('latin1'))
    const shown = readHead(scanned(raw), mailFrom).senderEmail
    const spf = await complete({ kind: 'spf', clientIp: ip, helo, mailFrom }, zone)
    const dkim = await complete({ kind: 'dkim', raw, receivedAt: RECEIVED_AT }, zone)
    if (spf?.result === 'pass')
      check(/v=spf1/i.test(input.toString('latin1')), 'SPF without a policy')
    if (dkim?.result === 'pass') checkSigned(raw)
    const passed = { spf: spf?.result === 'pass' ? [spf.domain] : [], dkim: dkim?.domains ?? [] }
    const { authors = [], fromFields = 0 } = dkim ?? {}
    const dmarc = await complete({ kind: 'dmarc', authors, fromFields, shown, passed }, zone)
    if (dmarc?.result === 'pass') {
      const domains = [...passed.spf, ...passed.dkim].map(organization)
      check(domains.includes(organization(shown)), `${shown} passes for ${domains}`)
    }
    const isSpf = spf !== undefined && !/none|permerror/.test(spf.result)
    return isSpf || dkim?.result === 'pass' || dkim?.result === 'fail'
  },
}

function read(text: string) {
  const [records = '', rest = ''] = split(text, '\n\n')
  const [envelope, raw] = split(rest, '\n')
  const [ip = '', helo = '', mailFrom = ''] = envelope.split(' ')
  const zone = new Map<string, DnsAnswer>()
  for (const line of records.split('\n')) {
    const [query = '', ...values] = line.split('|')
    const [type = '', name = ''] = query.split(' ')
    const error = values.find((value) => value.startsWith('!'))?.slice(1)
    zone.set(`${type} ${name.toLowerCase()}`, error ? { error } : { records: typed(type, values) })
  }
  return { zone, ip, helo, mailFrom, raw: Buffer.from(raw, 'latin1') }
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}

/** As Node.js returns them. */
function typed(type: string, values: string[]) {
  // A text of more than 255 bytes has several parts.
  if (type === 'TXT') return values.map((value) => value.match(/.{1,255}/gs) ?? [''])
  if (type !== 'MX') return values
  return values.map((value) => {
    const [priority, exchange = ''] = value.split(' ')
    return { priority: Number(priority) || 0, exchange }
  })
}

/** Runs a check until it has all answers: other names than those of the zone do not exist. */
async function complete<K extends CheckRequest['kind']>(
  request: Extract<CheckRequest, { kind: K }>,
  zone: DnsAnswers,
): Promise<Extract<CheckResponse, { kind: K }> | undefined> {
  const answers = new Map(zone)
  for (;;) {
    const response: CheckResponse = await checkSender({ ...(request as CheckRequest), answers })
    if (response.kind === 'uncheckable') {
      check(request.kind === 'dkim', `${request.kind} is uncheckable`)
      return undefined
    }
    if (response.kind !== 'unknown') {
      check(response.kind === request.kind, `a response to ${response.kind}`)
      check(CHECK_RESULTS.includes(response.result), `a result: ${response.result}`)
      return response as Extract<CheckResponse, { kind: K }>
    }
    const before = answers.size
    for (const query of response.queries) answers.set(queryKey(query), { error: 'ENOTFOUND' })
    check(answers.size > before, 'the same query again')
    if (answers.size > zone.size + MAX_QUERIES) return undefined
  }
}

/** Whatever was added, readers see what was signed. */
function checkSigned(raw: Buffer): void {
  const { subject, senderEmail } = readHead(scanned(raw), '')
  check(senderEmail === AUTHOR && subject === SUBJECT, `signed: ${senderEmail}, ${subject}`)
  // RFC 6376 3.4.4: relaxed signatures allow other blanks.
  const text = raw.toString('latin1').replace(/[ \t]+/g, ' ')
  check(text.includes(TEXT), 'signed: another text')
}

/** Two labels are the least that must agree. */
function organization(addressOrDomain: string): string {
  return (addressOrDomain.split('@').at(-1) ?? '')
    .toLowerCase()
    .split('.')
    .filter(Boolean)
    .slice(-2)
    .join('.')
}
