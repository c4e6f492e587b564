import { Type } from 'typebox'
import { secretHash } from '../../base/id.ts'
import { takeRate } from '../../http/server/rates.ts'
import { success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { enumField, messageSchema, named, namedSuccess } from '../../http/server/schemas.ts'
import { MAX_MESSAGES, MAX_SENDERS, parseRules } from '../../shared/address-rules.ts'
import { senderSyntax } from '../../shared/sender-pattern.ts'
import type { MailRouteDeps } from '../deps.ts'
import { MAX_PREFIX, PREFIX } from '../rules/prefix.ts'
import { parseLabel } from '../rules/session.ts'
import { createSession } from '../sessions/create-session.ts'
import { sessionDomains } from '../sessions/domains.ts'
import { endSession, extendSession, updateSession } from '../sessions/session.ts'
import { parseChange, SETTING_NAMES } from '../sessions/session-change.ts'
import {
  labelField,
  MAX_ID,
  newTtlField,
  sessionJson,
  sessionSchema,
  settingsFields,
  settingsJson,
  tokenField,
  ttlField,
} from './schemas.ts'

export const domainsRoute = route({
  method: 'GET',
  path: '/api/domains',
  name: 'list-domains',
  title: 'Mail domains',
  description: 'The mail domains and Gmail accounts available for new addresses.',
  output: namedSuccess('Domains', {
    domains: Type.Array(
      named('Domain', {
        id: Type.Integer({ examples: [1] }),
        domain: Type.String({ examples: ['mayfly.example'] }),
        wildcard: Type.Optional(
          Type.Literal(true, {
            description: 'Its addresses are at subdomains: see subdomain of create-session.',
          }),
        ),
      }),
    ),
    gmail_accounts: Type.Array(
      named('GmailAccount', {
        id: Type.Integer({ examples: [1] }),
        email: Type.String({ examples: ['someone@gmail.com'] }),
      }),
    ),
  }),
  async handle(_input, deps: MailRouteDeps) {
    const domains = await sessionDomains(deps)
    return success({
      domains: domains.map(({ id, name, wildcard }) => ({
        ...{ id, domain: name },
        ...(wildcard && { wildcard }),
      })),
      gmail_accounts: await deps.aliasAccounts.list(),
    })
  },
})

const id = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_ID, description }))
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

const listedSender = `\\s*${senderSyntax(',')}\\s*`

/** What the owner of a session can choose, then and later. */
const settingFields = {
  only_from: Type.Optional(
    Type.String({
      pattern: `^${listedSender}(?:,${listedSender}){0,${MAX_SENDERS - 1}}$`,
      description:
        'Accept mail only from these senders: up to 10 addresses or domains with their subdomains, separated by commas. Compared with the From header, which can be forged: see auth in read-mail.',
    }),
  ),
  max_messages: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_MESSAGES,
      description: 'Accept at most this many messages, including deleted ones.',
    }),
  ),
  label: labelField,
}

export const createSessionRoute = route({
  method: 'POST',
  path: '/api/create-session',
  title: 'Create a session',
  description:
    'Creates a mailbox and returns its address and token. Without parameters, the address is random. Store the token: it is returned only once. With an APIKey, the mail can also be read with /emails; creating the session is free.',
  input: Type.Object(
    {
      prefix: Type.Optional(
        Type.String({
          maxLength: MAX_PREFIX,
          pattern: PREFIX.source,
          description:
            'The local part: 1 to 64 characters from a-z and 0-9, with single . _ or - between them.',
        }),
      ),
      domain_id: id('The id of a domain from /api/domains. Default: a random one.'),
      domain: Type.Optional(
        Type.String({
          description:
            'The name of a domain from /api/domains, instead of domain_id; or of a domain that the APIKey holds, see /domains.',
        }),
      ),
      subdomain: Type.Optional(
        Type.String({
          description:
            'For a wildcard domain: the label before its name, 1 to 63 letters and digits with hyphens inside, or random, which is the default. Others may have addresses at the same subdomain.',
        }),
      ),
      ttl: newTtlField,
      use_gmail: flag('Create a Gmail alias instead of an address at a mail domain.'),
      gmail_auto: flag('Like use_gmail, with the account that has the fewest aliases.'),
      gmail_id: id('The id of a Gmail account from /api/domains.'),
      ...settingFields,
    },
    { dependentSchemas: { domain: { properties: { domain_id: false } } } },
  ),
  output: sessionSchema,
  acceptsKey: true,
  problems: [
    'invalid_key',
    'quota_exhausted',
    'plan_expired',
    'invalid_prefix',
    'reserved_prefix',
    'invalid_subdomain',
    'reserved_subdomain',
    'unknown_domain',
    'unknown_gmail_account',
    'address_taken',
    'gmail_unavailable',
  ],
  rate: 'createSession',
  authenticate: (deps: MailRouteDeps, request) => deps.findSessionKey(request),
  async handle(input, deps: MailRouteDeps, { key }) {
    const { session, token } = await createSession(deps, {
      prefix: input.prefix,
      domainId: input.domain_id,
      domain: input.domain,
      subdomain: input.subdomain,
      ttl: input.ttl,
      useGmail: input.use_gmail,
      gmailAuto: input.gmail_auto,
      gmailId: input.gmail_id,
      keyId: key?.id,
      rules: parseRules(input),
      label: input.label === undefined ? undefined : parseLabel(input.label),
    })
    return success(sessionJson(session, token))
  },
})

const changeFields = {
  ...settingFields,
  clear: Type.Optional(
    Type.Array(enumField(SETTING_NAMES), {
      minItems: 1,
      maxItems: SETTING_NAMES.length,
      description:
        'What to remove: only_from, max_messages or label, as a JSON array or separated by commas.',
    }),
  ),
}

export const updateSessionRoute = route({
  method: 'POST',
  path: '/api/update-session',
  title: 'Change a session',
  description:
    'Changes the rules or the label of the session; what is not given stays. Mail that is being transferred meanwhile may still be judged by the former rules. max_messages counts all messages since the session was created. At most ten times a minute per token.',
  input: Type.Object(
    { token: tokenField, ...changeFields },
    {
      anyOf: Object.entries(changeFields).map(([name, field]) => ({
        required: [name],
        properties: { [name]: field },
      })),
    },
  ),
  output: namedSuccess('SessionSettings', settingsFields),
  problems: ['invalid_token', 'session_expired'],
  async handle({ token, ...input }, deps: MailRouteDeps, request) {
    if (request.client !== undefined) await takeRate(deps, 'updateSession', secretHash(token))
    const session = await updateSession(deps, token, parseChange(input))
    return success(settingsJson(session))
  },
})

export const extendSessionRoute = route({
  method: 'POST',
  path: '/api/extend-session',
  title: 'Extend a session',
  description:
    'Sets the expiry of the session to ttl seconds from now. An expired session is revived, empty, during the cool-down of its address. At most ten times a minute per token.',
  input: Type.Object({ token: tokenField, ttl: ttlField }),
  output: sessionSchema,
  problems: ['invalid_token', 'session_expired'],
  async handle({ token, ttl }, deps: MailRouteDeps, request) {
    if (request.client !== undefined) await takeRate(deps, 'extendSession', secretHash(token))
    return success(sessionJson(await extendSession(deps, token, ttl), token))
  },
})

export const deleteSessionRoute = route({
  method: 'POST',
  path: '/api/delete-session',
  title: 'End a session',
  description: 'Ends the session immediately. Its mail is deleted and its token becomes invalid.',
  input: Type.Object({ token: tokenField }),
  output: messageSchema,
  problems: ['invalid_token', 'session_expired'],
  async handle({ token }, deps: MailRouteDeps) {
    await endSession(deps, token)
    return success({ message: 'Session deleted.' })
  },
})
