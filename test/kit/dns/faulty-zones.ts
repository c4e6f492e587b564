// Zones of mail domains for doctor.test.ts: one that is right, and one for each fault.

/** The records of a domain as they should be. */
const RIGHT_RECORDS = {
  mx: 'DOMAIN. 60 IN MX 10 mx.test.',
  spf: 'DOMAIN. 60 IN TXT "v=spf1 -all"',
  dmarc: '_dmarc.DOMAIN. 60 IN TXT "v=DMARC1; p=reject"',
  'mta-sts': '_mta-sts.DOMAIN. 60 IN TXT "v=STSv1; id=1"',
  policy: 'mta-sts.DOMAIN. 60 IN A 127.0.0.1',
}

export const rows = (table: string) =>
  table
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))

/** The domain, the record that is wrong, what it is instead, and who says so with which fix. */
export const DOMAIN_FAULTS = rows(`
no-mx      | mx      |                                                 | failure | mx       | DOMAIN. 3600 IN MX 10 mx.test.
null-mx    | mx      | DOMAIN. 60 IN MX 0 .                            | failure | mx       | Replace it: DOMAIN. 3600 IN MX 10 mx.test.
other-mx   | mx      | DOMAIN. 60 IN MX 10 old.test.                   | failure | mx       | DOMAIN. 3600 IN MX 10 mx.test.
address-mx | mx      | DOMAIN. 60 IN MX 10 127.0.0.1.                  | failure | mx       | Replace it: DOMAIN. 3600 IN MX 10 mx.test.
second-mx  | mx      | DOMAIN. 60 IN MX 9 mx.test. & DOMAIN. 60 IN MX 5 old.test. | warning | mx | If old.test is not one of your nodes, remove its record.
twin-mx    | mx      | DOMAIN. 60 IN MX 10 mx.test. & DOMAIN. 60 IN MX 10 old.test. | warning | mx | If old.test is not one of your nodes, remove its record.
no-spf     | spf     |                                                 | warning | spf      | DOMAIN. 3600 IN TXT "v=spf1 -all"
two-spf    | spf     | DOMAIN. 60 IN TXT "v=spf1 -all" & DOMAIN. 60 IN TXT "v=spf1 mx -all" | failure | spf | Keep only one: DOMAIN. 3600 IN TXT "v=spf1 -all"
open-spf   | spf     | DOMAIN. 60 IN TXT "v=spf1 +all"                 | warning | spf      | Replace it: DOMAIN. 3600 IN TXT "v=spf1 -all"
bad-spf    | spf     | DOMAIN. 60 IN TXT "v=spf1 ip:203.0.113.7 -all"  | failure | spf      | Replace it: DOMAIN. 3600 IN TXT "v=spf1 -all"
no-dmarc   | dmarc   |                                                 | warning | dmarc    | _dmarc.DOMAIN. 3600 IN TXT "v=DMARC1; p=reject"
lax-dmarc  | dmarc   | _dmarc.DOMAIN. 60 IN TXT "v=DMARC1; p=none"     | warning | dmarc    | Replace it: _dmarc.DOMAIN. 3600 IN TXT "v=DMARC1; p=reject"
two-dmarc  | dmarc   | _dmarc.DOMAIN. 60 IN TXT "v=DMARC1; p=none" & _dmarc.DOMAIN. 60 IN TXT "v=DMARC1; p=reject" | failure | dmarc | Keep only one: _dmarc.DOMAIN. 3600 IN TXT "v=DMARC1; p=reject"
bad-dmarc  | dmarc   | _dmarc.DOMAIN. 60 IN TXT "v=DMARC1; q=reject"   | failure | dmarc    | Replace it: _dmarc.DOMAIN. 3600 IN TXT "v=DMARC1; p=reject"
bad-sts    | mta-sts | _mta-sts.DOMAIN. 60 IN TXT "v=STSv1; id=2026-1" | failure | mta-sts  | Replace it: _mta-sts.DOMAIN. 3600 IN TXT "v=STSv1; id=2
lost-sts   | policy  |                                                 | failure | mta-sts  | Serve this at https://mta-sts.DOMAIN/.well-known/mta-sts.txt
old-sts    |         |                                                 | failure | mta-sts  | mx: mx.test
no-policy  |         |                                                 | failure | mta-sts  | mode: testing
unknown    |         |                                                 | failure | delivery | mayfly domain add DOMAIN
listed     |         |                                                 | warning | listings | request removal, on the site of each list: dbl.spamhaus.org
apex-alias | mx+spf  | DOMAIN. 60 IN CNAME www.DOMAIN. & www.DOMAIN. 60 IN TXT "v=spf1 -all" | failure | mx | Replace the CNAME record by the addresses of www.DOMAIN
dotless-mx | mx      | DOMAIN. 60 IN MX 10 mx.test.DOMAIN.             | failure | mx       | with a dot at the end: DOMAIN. 3600 IN MX 10 mx.test.
alias-mx   | mx      | DOMAIN. 60 IN MX 10 mail.DOMAIN. & mail.DOMAIN. 60 IN CNAME mx.test. | failure | mx | DOMAIN. 3600 IN MX 10 mx.test.
gone       | mx+spf+dmarc+mta-sts+policy |                             | failure | mx       | Register the domain
deep-spf   | spf     | DOMAIN. 60 IN TXT "v=spf1 include:a.DOMAIN include:b.DOMAIN -all" & a.DOMAIN. 60 IN TXT "v=spf1 a:a.test a:b.test a:c.test a:d.test a:e.test -all" & b.DOMAIN. 60 IN TXT "v=spf1 a:a.test mx:b.test exists:c.test ptr a -all" | failure | spf | Replace it: DOMAIN. 3600 IN TXT "v=spf1 -all"
loop-spf   | spf     | DOMAIN. 60 IN TXT "v=spf1 redirect=a.DOMAIN" & a.DOMAIN. 60 IN TXT "v=spf1 redirect=DOMAIN" | failure | spf | Replace it: DOMAIN. 3600 IN TXT "v=spf1 -all"
empty-spf  | spf     | DOMAIN. 60 IN TXT "v=spf1 redirect="            | failure | spf      | Replace it: DOMAIN. 3600 IN TXT "v=spf1 -all"
void-spf   | spf     | DOMAIN. 60 IN TXT "v=spf1 include:gone.test -all" | failure | spf    | Replace it: DOMAIN. 3600 IN TXT "v=spf1 -all"
glued-spf  | spf     | DOMAIN. 60 IN TXT "v=spf1-all"                  | warning | spf      | DOMAIN. 3600 IN TXT "v=spf1 -all"
lost-dmarc | dmarc   | DOMAIN. 60 IN TXT "v=DMARC1; p=reject"          | warning | dmarc    | _dmarc.DOMAIN. 3600 IN TXT "v=DMARC1; p=reject"
late-dmarc | dmarc   | _dmarc.DOMAIN. 60 IN TXT "p=reject; v=DMARC1"   | warning | dmarc    | _dmarc.DOMAIN. 3600 IN TXT "v=DMARC1; p=reject"
sub-dmarc  | dmarc   | _dmarc.DOMAIN. 60 IN TXT "v=DMARC1; p=reject; sp=none" | warning | dmarc | Replace it: _dmarc.DOMAIN. 3600 IN TXT "v=DMARC1; p=reject"
bare-dmarc | dmarc   | _dmarc.DOMAIN. 60 IN TXT "v=DMARC1; p=reject; rua=postmaster@DOMAIN" | warning | dmarc | "v=DMARC1; p=reject; rua=mailto:postmaster@DOMAIN"
foreign-dmarc | dmarc | _dmarc.DOMAIN. 60 IN TXT "v=DMARC1; p=reject; rua=mailto:all@reports.other.test" | warning | dmarc | In the zone of reports.other.test: DOMAIN._report._dmarc.reports.other.test. 3600 IN TXT "v=DMARC1"
brief-sts  |         |                                                 | warning | mta-sts  | max_age: 604800
zero-sts   |         |                                                 | warning | mta-sts  | max_age: 604800
typed-sts  |         |                                                 | warning | mta-sts  | Content-Type: text/plain
moved-sts  |         |                                                 | failure | mta-sts  | Senders do not follow redirects. Serve this at https://mta-sts.DOMAIN/
page-sts   |         |                                                 | failure | mta-sts  | Serve this at https://mta-sts.DOMAIN/
`).map(([name, records = '', instead = '', status = '', check = '', fix = '']) => {
  const [record = '', ...removed] = records.split('+')
  const faults = { ...Object.fromEntries(removed.map((one) => [one, ''])), [record]: instead }
  return { domain: `${name}.test`, faults, status, check, fix }
})

const POLICY = 'version: STSv1\nmode: enforce\nmx: mx.test\nmax_age: 604800\n'
/** What is served at the host of the policy instead of a right one. */
export const FAULTY_POLICIES = {
  'mta-sts.brief-sts.test': { text: POLICY.replace('604800', '60') },
  'mta-sts.zero-sts.test': { text: POLICY.replace('604800', '0') },
  'mta-sts.typed-sts.test': { text: POLICY, headers: { 'content-type': 'text/html' } },
  'mta-sts.moved-sts.test': {
    text: '',
    status: 301,
    headers: { location: 'https://www.moved-sts.test/policy' },
  },
  'mta-sts.page-sts.test': { text: '<!doctype html>', headers: { 'content-type': 'text/html' } },
}
export const RIGHT = 'right.test'
export const BROKEN = 'broken.test'
/** Has MX and SPF records only; `*.bare.test` has none. */
export const WILD = '*.wild.test'
export const FAULTY = DOMAIN_FAULTS.map(({ domain }) => domain)

const HOST_RECORDS = {
  address: 'mx.test. 60 IN A 127.0.0.1',
  ptr: '1.0.0.127.in-addr.arpa. 60 IN PTR mx.test.',
  wild: '*.wild.test. 60 IN MX 10 mx.test. & *.wild.test. 60 IN TXT "v=spf1 -all"',
  web: 'web.test. 60 IN A 127.0.0.1 & listed.test.dbl.spamhaus.org. 60 IN A 127.0.1.2',
}

/** The fault, the record of the host that is wrong, what it is instead, and who says so with which fix. */
export const HOST_FAULTS = rows(`
no address               | address |                                                             | failure | address | mx.test. 3600 IN A 127.0.0.1
a private address        | address | mx.test. 60 IN A 10.0.0.5                                   | failure | address | mx.test. 3600 IN A 127.0.0.1
another machine          | address | mx.test. 60 IN A 127.0.0.1 & mx.test. 60 IN A 127.0.0.2 & 2.0.0.127.in-addr.arpa. 60 IN PTR mx.test. | warning | address | mx.test. 3600 IN A 127.0.0.1
an alias                 | address | mx.test. 60 IN CNAME host.test. & host.test. 60 IN A 127.0.0.1 | warning | address | Publish only: mx.test. 3600 IN A 127.0.0.1
no reverse name          | ptr     |                                                             | warning | ptr     | 1.0.0.127.in-addr.arpa. 3600 IN PTR mx.test.
another reverse name     | ptr     | 1.0.0.127.in-addr.arpa. 60 IN PTR vps1.test.                | warning | ptr     | 1.0.0.127.in-addr.arpa. 3600 IN PTR mx.test.
a listed address         | list    | 1.0.0.127.zen.spamhaus.org. 60 IN A 127.0.0.2               | warning | listings | on the site of each list: zen.spamhaus.org
`)

/** All records; `host` and `fixes`, by domain, replace some. */
export function zone(
  host: Record<string, string> = {},
  fixes: Record<string, Record<string, string>> = {},
) {
  const domains = [{ domain: RIGHT, faults: {} }, ...DOMAIN_FAULTS].flatMap(
    ({ domain, faults }) => {
      const records = { ...RIGHT_RECORDS, ...faults, ...fixes[domain] }
      return Object.values(records).map((text) => text.replaceAll('DOMAIN', domain))
    },
  )
  const all = [...Object.values({ ...HOST_RECORDS, ...host }), ...domains]
  return all.flatMap((text) => text.split(' & ')).filter((line) => line !== '')
}
