import { Type } from 'typebox'
import { Problem } from '../base/problem.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import { success } from '../http/server/response.ts'
import { countField, named, nullable, successSchema } from '../http/server/schemas.ts'
import type { MailRouteDeps } from '../mail/deps.ts'
import { addDomain, changeDomain, domainJson } from './domains.ts'

const domainSchema = named('AdminDomain', {
  id: countField(1),
  name: Type.String({ examples: ['box.example'] }),
  active: Type.Boolean(),
  removed: Type.Boolean(),
  sessions: Type.Boolean(),
  reader: Type.Boolean(),
  ttl: nullable(Type.String({ examples: ['24h'] }), 'Lifetime of its sessions; null: the default.'),
})

const name = Type.String({
  description: 'The name of the domain; `*.box.example` for the subdomains of box.example.',
})
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const options = {
  sessions: flag('Whether it is offered for new sessions.'),
  reader: flag(
    'Whether mail to addresses that never had a session is kept in the pool. For wildcards only MAYFLY_READER_DOMAINS can turn it on.',
  ),
  ttl: Type.Optional(
    Type.String({
      description: 'Lifetime of its sessions, such as 24h; `default` for the default.',
    }),
  ),
}

export const domainRoutes = [
  adminRoute({
    method: 'GET',
    path: '/domains',
    title: 'Domains',
    description: 'All mail domains, including removed ones.',
    output: successSchema({ domains: Type.Array(domainSchema) }),
    async handle(_input, { store }: MailRouteDeps) {
      return success({ domains: (await store.listDomains()).map(domainJson) })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/domains',
    title: 'Add a domain',
    description: 'Accepts mail for a domain; a removed domain gets its old id back.',
    input: Type.Object({ name, ...options }),
    output: successSchema({ domain: domainSchema }),
    async handle({ name: text, ...given }, { store }: MailRouteDeps) {
      const added = await addDomain(store, text, given)
      if (!added) throw new Problem('invalid_parameter', 'name: this domain already exists.')
      return success({ domain: domainJson(added) })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/domains/change',
    title: 'Change a domain',
    description:
      'Changes what is given. An inactive domain is not offered; a removed one accepts no new sessions, and existing ones expire normally.',
    input: Type.Object({
      name,
      ...options,
      active: flag('Whether it is offered.'),
      removed: flag('1: removes it. To restore it, add it again.'),
    }),
    output: successSchema({ domain: domainSchema }),
    problems: ['not_found'],
    async handle({ name: text, ...change }, { store }: MailRouteDeps) {
      return success({ domain: domainJson(await changeDomain(store, text, change)) })
    },
  }),
]
