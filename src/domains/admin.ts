import { type Static, Type } from 'typebox'
import { type Host, type MailDomain, parseDomainName } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import { formatDuration } from '../base/time.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import { success } from '../http/server/response.ts'
import { countField, nullable, successSchema } from '../http/server/schemas.ts'
import type { MailRouteDeps } from '../mail/deps.ts'
import { LIFETIME_HINT, parseLifetime } from '../mail/rules/session.ts'

const domainSchema = Type.Object({
  id: countField(1),
  name: Type.String({ examples: ['box.example'] }),
  active: Type.Boolean(),
  removed: Type.Boolean(),
  sessions: Type.Boolean(),
  reader: Type.Boolean(),
  ttl: nullable(Type.String({ examples: ['24h'] }), 'Lifetime of its sessions; null: the default.'),
})

const name = Type.String({ description: 'The name of the domain.' })
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const options = {
  sessions: flag('Whether it is offered for new sessions.'),
  reader: flag('Whether mail to addresses that never had a session is kept in the pool.'),
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
    async handle({ name: text, sessions = true, reader = true, ttl }, { store }: MailRouteDeps) {
      const added = await store.addDomain({
        name: parseName(text),
        sessions,
        reader,
        ttlSeconds: parseTtl(ttl) ?? undefined,
      })
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
    async handle({ name: text, ttl, ...change }, { store }: MailRouteDeps) {
      const known = await store.findDomain(parseName(text))
      if (!known || known.removed) throw unknown()
      if (change.removed === false) throw invalid('removed: add the domain again instead.')
      const ttlSeconds = parseTtl(ttl)
      const changed = await store.changeDomain(known.name, {
        ...change,
        ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
      })
      if (!changed) throw unknown()
      return success({ domain: domainJson(changed) })
    },
  }),
]

function domainJson(domain: MailDomain): Static<typeof domainSchema> {
  const { ttlSeconds, ...rest } = domain
  return { ...rest, ttl: ttlSeconds === undefined ? null : formatDuration(ttlSeconds) }
}

function parseName(text: string): Host {
  const name = parseDomainName(text)
  if (!name) throw invalid('name: this is not a domain name.')
  return name
}

/** Null: the default; undefined: not given. */
function parseTtl(ttl: string | undefined): number | null | undefined {
  if (ttl === undefined) return undefined
  if (ttl === 'default') return null
  const seconds = parseLifetime(ttl)
  if (seconds === undefined) throw invalid(`ttl: ${LIFETIME_HINT}`)
  return seconds
}

function invalid(message: string): Problem {
  return new Problem('invalid_parameter', message)
}

function unknown(): Problem {
  return new Problem('not_found', 'No such domain.')
}
