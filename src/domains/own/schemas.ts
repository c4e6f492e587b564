import { Type } from 'typebox'
import { timestampFields } from '../../base/time.ts'
import {
  enumField,
  named,
  nullable,
  nullableTimeFields,
  timeFields,
} from '../../http/server/schemas.ts'
import { recordName, recordText } from './dns.ts'
import { unicodeName } from './names.ts'
import { type OwnDomain, suspendsAt } from './rules.ts'

export const idInput = Type.Object({
  id: Type.String({
    description: 'The id of the domain.',
    examples: ['dom_1uQmB0cZ7yR5tVd9KfXw3e'],
  }),
})

/** What the operator sees, too. */
export const ownDomainFields = {
  id: Type.String({ examples: ['dom_1uQmB0cZ7yR5tVd9KfXw3e'] }),
  domain: Type.String({ description: 'In A-labels.', examples: ['xn--bcher-kva.example'] }),
  unicode: Type.String({ description: 'In U-labels, for people.', examples: ['bücher.example'] }),
  state: enumField(['pending', 'active', 'suspended'], {
    description:
      'pending: not verified. active: takes mail. suspended: mail is refused, and what is stored can be read.',
  }),
  reason: nullable(
    enumField([
      'record_missing',
      'taken_over',
      'suspended_by_operator',
      'key_stopped',
      'key_expired',
      'not_checked',
    ]),
    'Why it is in this state, or soon will be in another one. not_checked: its name servers do not answer, which changes nothing, or it comes from a backup and mail is refused until its record is found.',
  ),
  catch_all: Type.Boolean({
    description: 'Whether mail to addresses that no session holds is taken.',
  }),
  ...timeFields('created_at'),
  ...nullableTimeFields('verified_at', 'Null: not verified.'),
  ...nullableTimeFields('checked_at', 'When its name servers last answered.'),
  ...nullableTimeFields('missing_since', 'Since when the TXT record is missing.'),
  ...nullableTimeFields('suspends_at', 'When mail will be refused unless something changes.'),
  taken: Type.Integer({ description: 'Mails taken since it was verified.', examples: [12] }),
  refused: Type.Integer({ description: 'Mails refused since then.', examples: [1] }),
}

export const holderFields = {
  ...ownDomainFields,
  records: Type.Array(
    Type.Object({
      type: enumField(['TXT', 'MX']),
      name: Type.String({ examples: ['_mayfly.xn--bcher-kva.example'] }),
      value: Type.String({ examples: ['mayfly-verification=2uYc0Wn6mKp4Vf8Qe1Rj5tHa9zI'] }),
    }),
    { description: 'The DNS records of the domain: TXT verifies it, MX brings its mail here.' },
  ),
}

export const ownDomainSchema = named('OwnDomain', holderFields)

export function ownDomainJson(domain: OwnDomain) {
  const { id, name, state, reason = null, catchAll, taken, refused } = domain
  return {
    id,
    domain: name,
    unicode: unicodeName(name),
    state,
    reason,
    catch_all: catchAll,
    ...timestampFields('created_at', domain.createdAt),
    ...timestampFields('verified_at', domain.verifiedAt),
    ...timestampFields('checked_at', domain.checkedAt),
    ...timestampFields('missing_since', domain.missingSince),
    ...timestampFields('suspends_at', suspendsAt(domain)),
    taken,
    refused,
  }
}

/** With what only the holder may know. */
export function holderJson(domain: OwnDomain, hostname: string) {
  const { name, token } = domain
  return {
    ...ownDomainJson(domain),
    records: [
      { type: 'TXT' as const, name: recordName(name), value: recordText(token) },
      { type: 'MX' as const, name, value: `10 ${hostname}` },
    ],
  }
}
