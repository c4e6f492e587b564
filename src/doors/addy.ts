import { Type } from 'typebox'
import { acceptsSessions, hostOf, localOf, parseHost } from '../base/address.ts'
import { Problem, type ProblemCode } from '../base/problem.ts'
import { timestampFields, utcTimestamp } from '../base/time.ts'
import { apiKeyOf } from '../http/server/credentials.ts'
import { problemResponse } from '../http/server/problem-response.ts'
import { json } from '../http/server/response.ts'
import { route } from '../http/server/route.ts'
import { authenticatedKey, pricingUrl } from '../keys/api/quota-headers.ts'
import { authenticateSessionKey } from '../keys/authenticate-key.ts'
import type { KeyRouteDeps } from '../keys/deps.ts'
import { isPermanent, MAX_LABEL_CHARACTERS, type Session } from '../mail/rules/session.ts'
import { createSession } from '../mail/sessions/create-session.ts'
import { sessionDomains } from '../mail/sessions/domains.ts'
import type { doorConfig } from './settings.ts'

interface AddyDeps extends KeyRouteDeps {
  config: ReturnType<typeof doorConfig>
}

const MAX_DESCRIPTION = 200

/** A new alias, as password managers create one with addy.io. Free, as create-session is. */
export const addyRoute = route({
  method: 'POST',
  path: '/api/v1/aliases',
  api: 'keyed',
  served: ({ config }: AddyDeps) => config.doors.includes('addy'),
  input: Type.Object({
    domain: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    format: Type.Optional(Type.String()),
    local_part: Type.Optional(Type.String()),
  }),
  rate: 'createSession',
  authenticate(deps: AddyDeps, request) {
    const { headers, client } = request
    const caller = { keyText: apiKeyOf(headers), client, shopUrl: pricingUrl(deps, request) }
    return authenticateSessionKey(deps, caller)
  },
  async handle({ domain, description, format, local_part: localPart }, deps: AddyDeps, request) {
    if (domain === undefined) throw new InvalidField('domain', 'The domain field is required.')
    if ([...(description ?? '')].length > MAX_DESCRIPTION) {
      const text = `The description field must not be greater than ${MAX_DESCRIPTION} characters.`
      throw new InvalidField('description', text)
    }
    const isCustom = format === 'custom'
    if (isCustom && localPart === undefined) {
      throw new InvalidField('local_part', 'The local part field is required.')
    }
    const key = authenticatedKey(request)
    if (isCustom && (await isShared(deps, domain, key.id))) {
      const text = 'A local part can be chosen only at a domain of your own.'
      throw new InvalidField('local_part', text)
    }
    const { session } = await createSession(deps, {
      prefix: isCustom ? localPart : undefined,
      domain,
      label: labelOf(description),
      keyId: key.id,
      ttl: 'longest',
      isKept: true,
    })
    return { ...json({ data: aliasJson(session, key.id, description) }), status: 201 }
  },
  renderProblem(problem, _deps, { requestId }) {
    const made = problemResponse(problem, requestId)
    const invalid = problem instanceof InvalidField ? problem : INVALID[problem.code]
    if (invalid) {
      const { field, message } = invalid
      const body = JSON.stringify({ message, errors: { [field]: [message] } })
      return { ...made, status: 422, body }
    }
    // Older versions of Bitwarden show the text of 401, 403 and 5xx only.
    const status = STATUS[made.status] ?? made.status
    const message = status === 401 ? 'Unauthenticated.' : problem.message
    return { ...made, status, body: JSON.stringify({ message }) }
  },
})

/** Of addy.io, where it is not ours. */
const STATUS: Readonly<Record<number, number>> = { 400: 422, 402: 403 }

/** 422, in the form of Laravel. */
class InvalidField extends Problem {
  readonly field: string

  constructor(field: string, message: string) {
    super('invalid_parameter', message)
    this.field = field
  }
}

const LOCAL_PART = { field: 'local_part', message: 'The local part field format is invalid.' }

/** What createSession refuses. */
const INVALID: Partial<Record<ProblemCode, { field: string; message: string }>> = {
  unknown_domain: { field: 'domain', message: 'The selected domain is invalid.' },
  invalid_prefix: LOCAL_PART,
  reserved_prefix: LOCAL_PART,
  address_taken: { field: 'local_part', message: 'The local part has already been taken.' },
}

/** Whether anybody gets addresses there. A name that is kept for ever must then be random: nobody may reserve all good ones. */
async function isShared(deps: AddyDeps, name: string, keyId: string): Promise<boolean> {
  const host = parseHost(name)
  const named = host && (await deps.store.findDomain(host))
  if (named?.owner !== undefined && acceptsSessions(named, keyId)) return false
  // Also below a wildcard, which findDomain does not find by the name without `*.`.
  return (await sessionDomains(deps)).some((one) => one.name === host)
}

/** The beginning of the description: a label is shorter, and has no control characters. */
function labelOf(description = ''): string | undefined {
  const printable = description.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return [...printable].slice(0, MAX_LABEL_CHARACTERS).join('').trim() || undefined
}

/** With `expires_at` besides what addy.io has; null if the address stays. */
function aliasJson(session: Session, userId: string, description = '') {
  const { address, createdAt, expiresAt } = session
  const digits = session.id.toString(16).padStart(32, '0')
  return {
    id: digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    user_id: userId,
    aliasable_id: null,
    aliasable_type: null,
    local_part: localOf(address),
    extension: null,
    domain: hostOf(address),
    email: address,
    active: true,
    description: description === '' ? null : description,
    from_name: null,
    emails_forwarded: 0,
    emails_blocked: 0,
    emails_replied: 0,
    emails_sent: 0,
    recipients: [],
    created_at: utcTimestamp(createdAt),
    updated_at: utcTimestamp(createdAt),
    deleted_at: null,
    ...timestampFields('expires_at', isPermanent(session) ? undefined : expiresAt),
  }
}
