import type { Route } from '../server/route.ts'

// The examples of /docs. test/docs-examples.test.ts runs them.

/** In the order of the tabs. */
export const EXAMPLE_LANGUAGES = {
  curl: 'curl',
  javascript: 'JavaScript',
  python: 'Python',
} as const

export type ExampleLanguage = keyof typeof EXAMPLE_LANGUAGES

/** What the reader replaces. The script of the page fills in the visitor's own, but for ID. */
export const PLACEHOLDER = /\b(TOKEN|ADDRESS|KEY|ID)\b/

/** A missing language has no method for the call. */
export type Example = Partial<Record<ExampleLanguage, string>>

/** The examples of a call. They run as they are once the placeholders are replaced. */
export function exampleOf({ method, path, api }: Route, site: string): Example | undefined {
  const example = EXAMPLES[`${method} ${path}`]
  return example && complete(example, site, api === 'keyed')
}

export function firstSteps(site: string): Example {
  return complete(FIRST_STEPS, site, false)
}

/** With what each example begins with: the client, and the mailbox unless the example creates or needs none. */
function complete(
  { curl = '', javascript, python }: Example,
  site: string,
  isKeyed: boolean,
): Example {
  const js = `new Mayfly({ url: '${site}'${isKeyed ? `, apiKey: 'KEY'` : ''} })`
  const py = `Mayfly("${site}"${isKeyed ? ', "KEY"' : ''})`
  return {
    curl: curl.replaceAll('SITE', site),
    ...(javascript && {
      javascript: `import { Mayfly } from '@mayfly-mail/client'

const ${usesMayfly(javascript) ? `mayfly = ${js}` : `mailbox = await ${js}.openMailbox('TOKEN')`}
${javascript}`,
    }),
    ...(python && {
      python: `from mayfly_mail import Mayfly

${usesMayfly(python) ? `mayfly = ${py}` : `mailbox = ${py}.open_mailbox("TOKEN")`}
${python}`,
    }),
  }
}

const usesMayfly = (code: string) => /\bmayfly\./.test(code)

const BEARER = `curl -H 'Authorization: Bearer TOKEN'`
const KEYED = `curl -H 'APIKey: KEY'`

const FIRST_STEPS: Example = {
  curl: `# Create an address and its token:
curl -X POST SITE/api/create-session
# Wait up to 30 seconds for mail:
curl 'SITE/api/check-mail?token=TOKEN&wait=30'
# Read it:
curl 'SITE/api/read-mail?token=TOKEN&id=ID'`,
  javascript: `const mailbox = await mayfly.createMailbox()
console.log(mailbox.email, mailbox.token)
const message = await mailbox.waitForMessage({ timeout: 60_000 })
console.log(message.subject, message.body_text)`,
  python: `mailbox = mayfly.create_mailbox()
print(mailbox.email, mailbox.token)
message = mailbox.wait_for_message(timeout=60)
print(message["subject"], message["body_text"])`,
}

/** By method and path. What comes before each is added: see complete. */
const EXAMPLES: Readonly<Record<string, Example>> = {
  'GET /api/domains': {
    curl: 'curl SITE/api/domains',
    javascript: `const { domains } = await mayfly.domains()
console.log(domains.map(({ domain }) => domain))`,
    python: `for domain in mayfly.domains()["domains"]:
    print(domain["domain"])`,
  },
  'POST /api/create-session': {
    curl: 'curl -X POST SITE/api/create-session -d ttl=3600 -d only_from=shop.example',
    javascript: `const mailbox = await mayfly.createMailbox({ ttl: 3600, only_from: ['shop.example'] })
console.log(mailbox.email, mailbox.token)`,
    python: `mailbox = mayfly.create_mailbox(ttl=3600, only_from=["shop.example"])
print(mailbox.email, mailbox.token)`,
  },
  'GET /api/check-mail': {
    curl: `${BEARER} 'SITE/api/check-mail?wait=30&has_code=1'`,
    javascript: `console.log(await mailbox.messages())
console.log(await mailbox.waitForCode({ timeout: 30_000 }))`,
    python: `print(mailbox.messages())
print(mailbox.wait_for_code(timeout=30))`,
  },
  'GET /api/read-mail': {
    curl: `${BEARER} 'SITE/api/read-mail?id=ID'`,
    javascript: `const [newest] = await mailbox.messages()
const { subject, body_text, codes, links } = await mailbox.read(newest)
console.log(subject, body_text, codes, links)`,
    python: `newest = mailbox.messages()[0]
message = mailbox.read(newest)
print(message["subject"], message["body_text"], message["codes"], message["links"])`,
  },
  'POST /api/delete-mail': {
    curl: `${BEARER} SITE/api/delete-mail -d id=ID`,
    javascript: `const [newest] = await mailbox.messages()
await mailbox.delete(newest)`,
    python: `newest = mailbox.messages()[0]
mailbox.delete(newest)`,
  },
  'POST /api/extend-session': {
    curl: `${BEARER} SITE/api/extend-session -d ttl=86400`,
    javascript: `await mailbox.extend({ ttl: 86_400 })
console.log(mailbox.expiresAt)`,
    python: `mailbox.extend(ttl=86400)
print(mailbox.expires_at)`,
  },
  'POST /api/update-session': {
    curl: `${BEARER} SITE/api/update-session -d only_from=shop.example -d clear=label`,
    javascript: `await mailbox.update({ only_from: ['shop.example'], clear: ['label'] })`,
    python: 'mailbox.update(only_from=["shop.example"], clear=["label"])',
  },
  'POST /api/delete-session': {
    curl: `${BEARER} -X POST SITE/api/delete-session`,
    javascript: 'await mailbox.end()',
    python: 'mailbox.end()',
  },
  'POST /api/send-test': {
    curl: `${BEARER} -X POST SITE/api/send-test`,
  },
  'GET /api/attachment': {
    curl: `${BEARER} -o attachment 'SITE/api/attachment?id=ID&index=0'`,
    javascript: `const [newest] = await mailbox.messages()
const bytes = await mailbox.attachment(newest, 0)
console.log(bytes.length)`,
    python: `newest = mailbox.messages()[0]
content = mailbox.attachment(newest, 0)
print(len(content))`,
  },
  'GET /api/raw-mail': {
    curl: `${BEARER} 'SITE/api/raw-mail?id=ID'`,
    javascript: `const [newest] = await mailbox.messages()
console.log(new TextDecoder().decode(await mailbox.raw(newest)))`,
    python: `newest = mailbox.messages()[0]
print(mailbox.raw(newest).decode(errors="replace"))`,
  },
  'GET /api/events': {
    curl: `${BEARER} -N SITE/api/events`,
    javascript: `for await (const event of mailbox.events({ since_id: 0 })) {
  console.log(event)
  if (event.type === 'message') break
}`,
    python: `for event in mailbox.events(since_id=0):
    print(event)
    if event["type"] == "message":
        break`,
  },
  'GET /emails': {
    curl: `${KEYED} -G SITE/emails --data-urlencode 'to=ADDRESS'`,
    javascript: `const { emails } = await mayfly.emails({ to: 'ADDRESS' })
for (const { from, subject, body } of emails) console.log(from, subject, body)`,
    python: `for email in mayfly.emails(to="ADDRESS").emails:
    print(email["from"], email["subject"], email["body"])`,
  },
  'GET /emails/{id}': {
    curl: `${KEYED} SITE/emails/ID`,
    javascript: `const { subject, body_html, codes, links } = await mayfly.readEmail(ID)
console.log(subject, body_html, codes, links)`,
    python: `email = mayfly.read_email(ID)
print(email["subject"], email["body_html"], email["codes"], email["links"])`,
  },
  'GET /emails/{id}/raw': {
    curl: `${KEYED} SITE/emails/ID/raw`,
    javascript: 'console.log(new TextDecoder().decode(await mayfly.rawEmail(ID)))',
    python: 'print(mayfly.raw_email(ID).decode(errors="replace"))',
  },
  'GET /emails/{id}/attachments/{index}': {
    curl: `${KEYED} -o attachment SITE/emails/ID/attachments/0`,
    javascript: `const bytes = await mayfly.emailAttachment(ID, 0)
console.log(bytes.length)`,
    python: `content = mayfly.email_attachment(ID, 0)
print(len(content))`,
  },
  'GET /sessions': {
    curl: `${KEYED} SITE/sessions`,
    javascript: `const { sessions } = await mayfly.sessions.list()
for (const { email, label, messages } of sessions) console.log(email, label, messages)`,
    python: `for session in mayfly.sessions.list().sessions:
    print(session["email"], session["label"], session["messages"])`,
  },
  'POST /sessions/end': {
    curl: `${KEYED} SITE/sessions/end --data-urlencode 'email=ADDRESS'`,
    javascript: `await mayfly.sessions.end('ADDRESS')`,
    python: 'mayfly.sessions.end("ADDRESS")',
  },
  'POST /sessions/roll-token': {
    curl: `${KEYED} SITE/sessions/roll-token --data-urlencode 'email=ADDRESS'`,
    javascript: `const mailbox = await mayfly.sessions.rollToken('ADDRESS')
console.log(mailbox.token)`,
    python: `mailbox = mayfly.sessions.roll_token("ADDRESS")
print(mailbox.token)`,
  },
  'GET /usage': {
    curl: `${KEYED} SITE/usage`,
    javascript: `const { used, remaining } = await mayfly.usage()
console.log(used, remaining)`,
    python: `usage = mayfly.usage()
print(usage["used"], usage["remaining"])`,
  },
  'POST /api/roll-key': { curl: `${KEYED} -X POST SITE/api/roll-key` },
  'POST /webhooks': {
    curl: `${KEYED} SITE/webhooks -d url=https://example.com/hook`,
    javascript: `const { id, secret } = await mayfly.webhooks.create({ url: 'https://example.com/hook' })
console.log(id, secret)`,
    python: `webhook = mayfly.webhooks.create("https://example.com/hook")
print(webhook["id"], webhook["secret"])`,
  },
  'GET /webhooks': {
    curl: `${KEYED} SITE/webhooks`,
    javascript:
      'for (const { id, url, state } of await mayfly.webhooks.list()) console.log(id, url, state)',
    python: `for webhook in mayfly.webhooks.list():
    print(webhook["id"], webhook["url"], webhook["state"])`,
  },
  'GET /webhooks/{id}': {
    curl: `${KEYED} SITE/webhooks/ID`,
    javascript: `console.log(await mayfly.webhooks.read('ID'))`,
    python: 'print(mayfly.webhooks.read("ID"))',
  },
  'POST /webhooks/{id}': {
    curl: `${KEYED} SITE/webhooks/ID -d state=paused`,
    javascript: `await mayfly.webhooks.update('ID', { state: 'paused' })`,
    python: 'mayfly.webhooks.update("ID", state="paused")',
  },
  'DELETE /webhooks/{id}': {
    curl: `${KEYED} -X DELETE SITE/webhooks/ID`,
    javascript: `await mayfly.webhooks.delete('ID')`,
    python: 'mayfly.webhooks.delete("ID")',
  },
  'GET /webhooks/{id}/deliveries': {
    curl: `${KEYED} SITE/webhooks/ID/deliveries`,
    javascript: `console.log(await mayfly.webhooks.deliveries('ID'))`,
    python: 'print(mayfly.webhooks.deliveries("ID"))',
  },
  'POST /webhooks/{id}/test': {
    curl: `${KEYED} -X POST SITE/webhooks/ID/test`,
    javascript: `console.log(await mayfly.webhooks.test('ID'))`,
    python: 'print(mayfly.webhooks.test("ID"))',
  },
  'POST /webhooks/{id}/replay': {
    curl: `${KEYED} SITE/webhooks/ID/replay -d since_id=0`,
    javascript: `await mayfly.webhooks.replay('ID', { since_id: 0 })`,
    python: 'mayfly.webhooks.replay("ID", since_id=0)',
  },
  'POST /webhooks/{id}/roll-secret': {
    curl: `${KEYED} -X POST SITE/webhooks/ID/roll-secret`,
    javascript: `const { secret } = await mayfly.webhooks.rollSecret('ID')
console.log(secret)`,
    python: 'print(mayfly.webhooks.roll_secret("ID")["secret"])',
  },
  'POST /webhooks/{id}/enable': {
    curl: `${KEYED} -X POST SITE/webhooks/ID/enable`,
    javascript: `await mayfly.webhooks.enable('ID')`,
    python: 'mayfly.webhooks.enable("ID")',
  },
  'POST /domains': {
    curl: `${KEYED} SITE/domains -d domain=test.example.com`,
    javascript: `const { id, records } = await mayfly.ownDomains.add('test.example.com')
for (const { type, name, value } of records) console.log(id, type, name, value)`,
    python: `domain = mayfly.own_domains.add("test.example.com")
for record in domain["records"]:
    print(domain["id"], record["type"], record["name"], record["value"])`,
  },
  'GET /domains': {
    curl: `${KEYED} SITE/domains`,
    javascript: `for (const { id, domain, state } of await mayfly.ownDomains.list()) {
  console.log(id, domain, state)
}`,
    python: `for domain in mayfly.own_domains.list():
    print(domain["id"], domain["domain"], domain["state"])`,
  },
  'GET /domains/{id}': {
    curl: `${KEYED} SITE/domains/ID`,
    javascript: `console.log(await mayfly.ownDomains.read('ID'))`,
    python: 'print(mayfly.own_domains.read("ID"))',
  },
  'POST /domains/{id}/verify': {
    curl: `${KEYED} -X POST SITE/domains/ID/verify`,
    javascript: `console.log((await mayfly.ownDomains.verify('ID')).state)`,
    python: 'print(mayfly.own_domains.verify("ID")["state"])',
  },
  'POST /domains/{id}': {
    curl: `${KEYED} SITE/domains/ID -d catch_all=0`,
    javascript: `await mayfly.ownDomains.update('ID', { catch_all: false })`,
    python: 'mayfly.own_domains.update("ID", catch_all=False)',
  },
  'DELETE /domains/{id}': {
    curl: `${KEYED} -X DELETE SITE/domains/ID`,
    javascript: `await mayfly.ownDomains.delete('ID')`,
    python: 'mayfly.own_domains.delete("ID")',
  },
  'POST /webhooks/{id}/delete': {
    curl: `${KEYED} -X POST SITE/webhooks/ID/delete`,
    javascript: `await mayfly.webhooks.delete('ID')`,
    python: 'mayfly.webhooks.delete("ID")',
  },
}
