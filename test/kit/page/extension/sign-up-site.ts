import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { App } from '../../app/app.ts'
import { textMail } from '../mails.ts'
import { hostilePage } from './hostile-page.ts'
import { SIGN_UP_PAGES } from './sign-up-pages.ts'

export type SignUpSite = Awaited<ReturnType<typeof startSignUpSite>>

/** The host names of the site. Browsers resolve all below `localhost` to this machine. */
export const HOST = 'tea.localhost'
export const OTHER_HOST = 'evil.localhost'

/** Somebody else's site, which mails a code by SMTP to whatever address it is given. */
export async function startSignUpSite(app: Pick<App, 'mail'>) {
  const codes = new Map<string, string>()
  const requests: string[] = []
  const server = createServer((request, response) => {
    respond(request, response).catch((fault: Error) => {
      response.writeHead(500).end(fault.message)
    })
  })

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const { method = '', url = '', rawHeaders } = request
    requests.push([method, url, ...rawHeaders, body].join(' '))
    const fields = new URLSearchParams(body)
    const email = fields.get('email') ?? ''
    const answer = (type: string, content: string) =>
      response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(content)
    const html = (content: string) => answer('text/html', content)
    const json = (value: object) => answer('application/json', JSON.stringify(value))
    const { pathname } = new URL(url, 'http://site')
    switch (pathname) {
      case '/form':
        return void html(SIGN_UP_PAGES.form('address', ''))
      case '/app':
        return void html(SIGN_UP_PAGES.app())
      case '/boxes':
        return void html(SIGN_UP_PAGES.boxes())
      case '/confirm':
        return void html('Confirmed')
      case '/hostile':
        return void html(hostilePage())
      case '/form/code':
        await mailCode(email)
        return void html(SIGN_UP_PAGES.form('code', email))
      case '/api/code':
        await mailCode(email)
        return void json({})
    }
    if (pathname !== '/form/welcome' && pathname !== '/api/welcome')
      return void response.writeHead(404).end()
    if (codes.get(email) === undefined || codes.get(email) !== fields.get('code'))
      return void response.writeHead(403).end('wrong code')
    if (pathname === '/form/welcome') return void html(SIGN_UP_PAGES.form('welcome', email))
    json({ welcome: `Welcome, ${email}` })
  }

  async function mailCode(email: string): Promise<void> {
    const code = String(randomInt(100_000, 1_000_000))
    codes.set(email, code)
    const mail = textMail(`Your verification code is ${code}.`, {
      from: `Tea house <hello@${HOST}>`,
      subject: 'Your verification code',
    })
    const reply = await app.mail(email, mail)
    if (reply !== 250) throw new Error(`the mail was answered ${reply}`)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the site has no port')
  return {
    port: address.port,
    origin: `http://${HOST}:${address.port}`,
    otherOrigin: `http://${OTHER_HOST}:${address.port}`,
    /** The codes that were mailed, by address. */
    codes,
    /** Everything that reached the site: method, URL, headers and body of each request. */
    requests,
    async close() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}
