/** What a sample asks for. */
interface SampleCall {
  site: string
  key: string
  /** Only mail for this address; empty: all that the key may see. */
  to: string
}

/** Programs of a few lines that read mail, by their language. Each runs as it stands. */
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

/** One word to a shell, whatever is in it. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A text in single quotes, to JavaScript and to Python alike. */
function stringLiteral(text: string): string {
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inside}'`
}

/** As a form has it, with what an address is made of left readable. */
function formEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%40', '@')
}
