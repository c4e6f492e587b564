interface SampleCall {
  site: string
  key: string
  /** Filters by address; empty: everything that the key may see. */
  to: string
}

/** Short programs that read mail. Each runs as it is. */
export const SAMPLES = {
  curl: { name: 'curl', write: curl },
  javascript: { name: 'JavaScript', write: javascript },
  python: { name: 'Python', write: python },
} as const

export type SampleName = keyof typeof SAMPLES

function curl({ site, key, to }: SampleCall): string {
  const lines = [`curl -H ${shellQuoted(`APIKey: ${key}`)}`, `${site}/emails`]
  return (
    to === '' ? lines : [`${lines[0]} -G`, `-d ${shellQuoted(`to=${formEncoded(to)}`)}`, lines[1]]
  ).join(' \\\n  ')
}

function javascript({ site, key, to }: SampleCall): string {
  return `const url = new URL(${stringLiteral(`${site}/emails`)})
${to === '' ? '' : `url.searchParams.set('to', ${stringLiteral(to)})\n`}const response = await fetch(url, { headers: { APIKey: ${stringLiteral(key)} } })
const answer = await response.json()
if (!response.ok) throw new Error(answer.message)
for (const { emails } of answer) {
  for (const { from, subject, body } of emails) console.log(from, subject, body)
}`
}

function python({ site, key, to }: SampleCall): string {
  const address =
    to === '' ? stringLiteral(`${site}/emails`) : `${stringLiteral(`${site}/emails?`)} + query`
  return `import json
${to === '' ? '' : 'from urllib.parse import urlencode\n'}from urllib.request import Request, urlopen

${to === '' ? '' : `query = urlencode({'to': ${stringLiteral(to)}})\n`}request = Request(${address}, headers={'APIKey': ${stringLiteral(key)}})
with urlopen(request) as response:
    for element in json.load(response):
        for email in element['emails']:
            print(email['from'], email['subject'], email['body'])`
}

/** Quoted as a single shell word. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A string literal, valid in JavaScript and in Python. */
function stringLiteral(text: string): string {
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inside}'`
}

/** Percent-encoded, except for the @ of an address. */
function formEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%40', '@')
}
