import { Type } from 'typebox'
import { nextField, pageFields, readCreatedPage } from '../../http/server/admin-list.ts'
import { adminRoute } from '../../http/server/admin-route.ts'
import { success } from '../../http/server/response.ts'
import { messageSchema, named, successSchema } from '../../http/server/schemas.ts'
import type { OwnDomainRouteDeps } from './api.ts'
import { deleteOwnDomain, resumeOwnDomain, suspendOwnDomain } from './own-domains.ts'
import type { OwnDomain } from './rules.ts'
import { idInput, ownDomainFields, ownDomainJson } from './schemas.ts'

const domainSchema = named('AdminOwnDomain', {
  key_id: Type.String({ examples: ['key_…'] }),
  ...ownDomainFields,
})
const OF_ONE = { method: 'POST', input: idInput, problems: ['domain_not_found'] } as const

/** The same for the operator: without the token that proves it. */
export function adminOwnDomainJson(domain: OwnDomain) {
  return { key_id: domain.keyId, ...ownDomainJson(domain) }
}

export const ownDomainAdminRoutes = [
  adminRoute({
    method: 'GET',
    path: '/own-domains',
    title: 'Domains of key holders',
    description: 'Domains of all keys, newest first, also those that are not verified.',
    input: Type.Object(pageFields),
    output: successSchema({ domains: Type.Array(domainSchema), next: nextField }),
    async handle(page, { store }: OwnDomainRouteDeps) {
      const { entries, next } = await readCreatedPage(page, (part) => store.listAllOwnDomains(part))
      return success({ domains: entries.map(adminOwnDomainJson), next })
    },
  }),
  adminRoute({
    ...OF_ONE,
    path: '/own-domains/{id}/suspend',
    title: 'Suspend a domain of a key holder',
    description: 'Refuses mail to the domain until it is resumed. Stored mail can be read.',
    output: successSchema({ domain: domainSchema }),
    async handle({ id }, deps: OwnDomainRouteDeps) {
      return success({ domain: adminOwnDomainJson(await suspendOwnDomain(deps, id)) })
    },
  }),
  adminRoute({
    ...OF_ONE,
    path: '/own-domains/{id}/resume',
    title: 'Resume a domain of a key holder',
    description:
      'Takes mail again, unless its key lapsed more than 30 days ago. If its record is missing, the next check suspends it again.',
    output: successSchema({ domain: domainSchema }),
    async handle({ id }, deps: OwnDomainRouteDeps) {
      return success({ domain: adminOwnDomainJson(await resumeOwnDomain(deps, id)) })
    },
  }),
  adminRoute({
    ...OF_ONE,
    path: '/own-domains/{id}/delete',
    title: 'Delete a domain of a key holder',
    description: 'Deletes the domain with all its addresses and mail.',
    output: messageSchema,
    async handle({ id }, deps: OwnDomainRouteDeps) {
      await deleteOwnDomain(deps, id)
      return success({ message: 'Domain deleted.' })
    },
  }),
]
