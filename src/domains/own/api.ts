import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import {
  countField,
  messageSchema,
  namedSuccess,
  successSchema,
} from '../../http/server/schemas.ts'
import { warningJson, warningSchema } from '../../keys/api/keys.ts'
import { authenticatedKey, callerOf } from '../../keys/api/quota-headers.ts'
import { authenticateRollingKey, authenticateSessionHolder } from '../../keys/authenticate-key.ts'
import type { KeyRouteDeps } from '../../keys/deps.ts'
import {
  addOwnDomain,
  changeCatchAll,
  deleteOwnDomain,
  type OwnDomainDeps,
  requireOwnDomain,
  verifyOwnDomain,
} from './own-domains.ts'
import { domainWarnings, type OwnDomain } from './rules.ts'
import { holderJson, idInput, newOwnDomainSchema, ownDomainSchema } from './schemas.ts'
import type { OwnDomainStore } from './store.ts'

/** What the endpoints work with. */
export interface OwnDomainRouteDeps
  extends Omit<KeyRouteDeps, 'store'>,
    Omit<OwnDomainDeps, keyof KeyRouteDeps> {
  store: KeyRouteDeps['store'] & OwnDomainStore
  /** Whether key holders may have domains. */
  ownDomains: boolean
}

/** All are free. */
const keyed = (authenticate: typeof authenticateSessionHolder) =>
  ({
    api: 'keyed',
    authenticate: (deps: OwnDomainRouteDeps, request: HttpRequest) =>
      authenticate(deps, callerOf(deps, request)),
  }) as const

/** If they are off, those that keys have stay theirs, and none is added. */
function requireOwnDomains({ ownDomains }: OwnDomainRouteDeps): void {
  if (ownDomains) return
  throw new Problem('not_allowed', 'Domains of key holders are disabled on this server.')
}

const ofOne = {
  ...keyed(authenticateSessionHolder),
  input: idInput,
  problems: ['invalid_key', 'domain_not_found'],
} as const

const oneDomain = successSchema({ domain: ownDomainSchema })

const found = (domain: OwnDomain, { hostname }: OwnDomainRouteDeps) =>
  success({ domain: holderJson(domain, hostname) })

const deletion = {
  ...ofOne,
  title: 'Delete a domain of a key',
  description:
    'Deletes the domain with all addresses and mail, at once and for good; mail to it is refused. POST /domains/{id}/delete does the same. Free.',
  output: messageSchema,
  problems: [...ofOne.problems, 'not_allowed'] as const,
  async handle({ id }: { id: string }, deps: OwnDomainRouteDeps, request: HttpRequest) {
    await deleteOwnDomain(deps, id, authenticatedKey(request).id)
    return success({ message: 'Domain deleted.' })
  },
}

export const ownDomainRoutes = [
  route({
    ...keyed(authenticateRollingKey),
    method: 'POST',
    path: '/domains',
    name: 'add-own-domain',
    title: 'Add a domain to a key',
    description: [
      'Claims a domain of yours. Create the DNS records in the response, then verify it with POST /domains/{id}/verify. From then on only this key creates addresses there, with domain in create-session, and mail to all other addresses of the domain goes to this key alone.',
      'Exactly this name: subdomains are other domains. If the domain already has mail elsewhere, use a subdomain, because the MX record moves all mail of a name. Free; how many domains a key can have is part of its plan.',
    ].join('\n\n'),
    input: Type.Object({
      domain: Type.String({
        description: 'A name, such as test.example.com. Not a public suffix such as co.uk.',
      }),
    }),
    output: newOwnDomainSchema,
    problems: [
      'invalid_key',
      'plan_expired',
      'quota_exhausted',
      'not_allowed',
      'invalid_domain',
      'domain_reserved',
      'domain_exists',
      'domain_limit',
    ],
    async handle({ domain }, deps: OwnDomainRouteDeps, request) {
      requireOwnDomains(deps)
      const added = await addOwnDomain(deps, authenticatedKey(request), domain)
      return success(holderJson(added, deps.hostname))
    },
  }),
  route({
    ...keyed(authenticateSessionHolder),
    method: 'GET',
    path: '/domains',
    name: 'list-own-domains',
    title: 'List the domains of a key',
    description:
      'The domains of the key, oldest first, and what needs attention before mail is refused. Free, and available even if the quota is exhausted or the plan has expired.',
    output: namedSuccess('OwnDomains', {
      domains: Type.Array(ownDomainSchema),
      limit: countField(5),
      warnings: Type.Array(warningSchema),
    }),
    problems: ['invalid_key'],
    async handle(_input, { store, hostname, now, ownDomains }: OwnDomainRouteDeps, request) {
      const key = authenticatedKey(request)
      const domains = await store.listOwnDomains(key.id)
      return success({
        domains: domains.map((domain) => holderJson(domain, hostname)),
        limit: ownDomains ? key.maxDomains : 0,
        warnings: domainWarnings(domains, key, now()).map(warningJson),
      })
    },
  }),
  route({
    ...ofOne,
    method: 'GET',
    path: '/domains/{id}',
    name: 'get-own-domain',
    title: 'Read a domain of a key',
    description: 'The state of the domain with its reason, and its DNS records. Free.',
    output: oneDomain,
    async handle({ id }, deps: OwnDomainRouteDeps, request) {
      return found(await requireOwnDomain(deps, id, authenticatedKey(request).id), deps)
    },
  }),
  route({
    ...ofOne,
    method: 'POST',
    path: '/domains/{id}',
    name: 'update-own-domain',
    title: 'Change a domain of a key',
    description:
      'Turns the catch-all on or off: whether mail to addresses that no session holds is taken. Free.',
    input: Type.Object({ ...idInput.properties, catch_all: Type.Boolean() }),
    output: oneDomain,
    async handle({ id, catch_all: catchAll }, deps: OwnDomainRouteDeps, request) {
      return found(await changeCatchAll(deps, id, authenticatedKey(request).id, catchAll), deps)
    },
  }),
  route({
    ...deletion,
    method: 'DELETE',
    path: '/domains/{id}',
    name: 'delete-own-domain',
  }),
  route({
    ...ofOne,
    method: 'POST',
    path: '/domains/{id}/verify',
    name: 'verify-own-domain',
    title: 'Verify a domain of a key',
    description:
      'Looks for the TXT record at the name servers of the domain. If another key holds it, this key gets it only if the record of the other one is missing. A domain that was suspended because its record was missing takes mail again. Free; at most ten times a minute per key.',
    output: oneDomain,
    problems: [
      ...ofOne.problems,
      'not_allowed',
      'invalid_domain',
      'record_missing',
      'domain_held',
      'domain_reserved',
      'dns_failed',
    ],
    async handle({ id }, deps: OwnDomainRouteDeps, request) {
      const caller = { keyId: authenticatedKey(request).id, client: request.client }
      const { state } = await requireOwnDomain(deps, id, caller.keyId)
      if (state === 'pending') requireOwnDomains(deps)
      return found(await verifyOwnDomain(deps, id, caller), deps)
    },
  }),
]

/** For clients that cannot send DELETE; described there. */
export const deleteOwnDomainRoute = route({
  ...deletion,
  method: 'POST',
  path: '/domains/{id}/delete',
})
