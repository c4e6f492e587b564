import { Type } from 'typebox'
import { authenticateSessionKey } from '../../service/keys/authenticate-key.ts'
import { createSession } from '../../service/sessions/create-session.ts'
import { apiKeyBesideToken } from '../server/credentials.ts'
import { pricingUrl } from '../server/keyed.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { sessionJson, sessionSchema, ttlField } from './schemas.ts'

const id = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

export const createSessionRoute = route({
  method: 'POST',
  path: '/api/create-session',
  title: 'Create a session',
  about:
    'Creates a mailbox and returns its address and token. Without parameters, the address is random. Store the token: it is returned only once. With an APIKey, /emails also returns the mail of the session; creating it is free.',
  input: Type.Object({
    prefix: Type.Optional(
      Type.String({
        description: 'The local part: 1 to 64 characters a-z and 0-9, with single . _ or - inside.',
      }),
    ),
    domain_id: id('The id of a domain from /api/domains. Default: a random one.'),
    ttl: ttlField,
    use_gmail: flag('Create an alias of a Gmail account instead of an address at a mail domain.'),
    gmail_auto: flag('Like use_gmail, at the account with the fewest aliases.'),
    gmail_id: id('The id of a Gmail account from /api/domains.'),
  }),
  output: sessionSchema,
  requestHeaders: [
    {
      name: 'APIKey',
      required: false,
      description: 'Your key, to read the mail of the session with /emails; also as X-API-Key.',
    },
  ],
  problems: [
    'invalid_key',
    'quota_exhausted',
    'plan_expired',
    'invalid_prefix',
    'reserved_prefix',
    'unknown_domain',
    'unknown_gmail_account',
    'address_taken',
    'gmail_unavailable',
  ],
  rate: 'createSession',
  async authenticate(deps, request) {
    const keyText = apiKeyBesideToken(request.headers)
    if (keyText === undefined) return undefined
    const { client } = request
    return await authenticateSessionKey(deps, {
      keyText,
      client,
      shopUrl: pricingUrl(deps, request),
    })
  },
  async handle(input, deps, { key }) {
    const { session, token } = await createSession(deps, {
      prefix: input.prefix,
      domainId: input.domain_id,
      ttl: input.ttl,
      useGmail: input.use_gmail,
      gmailAuto: input.gmail_auto,
      gmailId: input.gmail_id,
      keyId: key?.id,
    })
    return success(sessionJson(session, token))
  },
})
