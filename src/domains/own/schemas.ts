import { Type } from 'typebox'
import { timestampFields } from '../../base/time.ts'
import {
  enumField,
  named,
  namedSuccess,
  nullable,
  nullableTimeFields,
  timeFields,
} from '../../http/server/schemas.ts'
import { recordName, recordText } from './dns.ts'
import { unicodeName } from './names.ts'
import { type OwnDomain, suspendsAt } from './rules.ts'

const EXAMPLE_ID = 'dom_1uQmB0cZ7yR5tVd9KfXw3e'

export const idInput = Type.Object({
  id: Type.String({ description: 'The id of the domain.', examples: [EXAMPLE_ID] }),
})

/** What the operator sees, too. */
export const ownDomainFields = {
  id: Type.String({ examples: [EXAMPLE_ID] }),
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
      'restored',
    ]),
    'Why it is in this state, or soon will be in another one. not_checked: its name servers do not answer, which changes nothing. restored: it comes from a backup, and mail is deferred until its name servers have its record and no other of this kind.',
  ),
  catch_all: Type.Boolean({
    description: 'Whether mail to addresses that no session holds is taken.',
  }),
  ...timeFields('created_at'),
  ...nullableTimeFields('verified_at', 'Null: not verified.'),
  ...nullableTimeFields(
    'checked_at',
    'When its name servers last answered. Null if it is not verified, or was not found since a restore.',
  ),
  ...nullableTimeFields('missing_since', 'Since when the TXT record has been missing.'),
  ...nullableTimeFields('suspends_at', 'When mail will be refused unless something changes.'),
  taken: Type.Integer({ description: 'Mails taken since it was verified.', examples: [12] }),
  refused: Type.Integer({ description: 'Mails refused since then.', examples: [1] }),
}

const holderFields = {
  ...ownDomainFields,
  records: Type.Array(
    Type.Object({
      type: enumField(['TXT', 'MX']),
      name: Type.String(),
      value: Type.String(),
    }),
    { description: 'The DNS records of the domain: TXT verifies it, MX brings its mail here.' },
  ),
}

const NAME = 'test.example.com'
const ADDED = {
  id: EXAMPLE_ID,
  domain: NAME,
  unicode: NAME,
  state: 'pending',
  reason: null,
  catch_all: true,
  ...timestampFields('created_at', new Date('2026-03-01T12:00:00Z')),
  ...timestampFields('verified_at', undefined),
  ...timestampFields('checked_at', undefined),
  ...timestampFields('missing_since', undefined),
  ...timestampFields('suspends_at', undefined),
  taken: 0,
  refused: 0,
  records: [
    { type: 'TXT', name: `_mayfly.${NAME}`, value: recordText('2uYc0Wn6mKp4Vf8Qe1Rj5tHa9zI') },
    { type: 'MX', name: NAME, value: '10 mx.box.example.org' },
  ],
}
const VERIFIED = {
  ...ADDED,
  state: 'active',
  ...timestampFields('verified_at', new Date('2026-03-01T12:10:00Z')),
  ...timestampFields('checked_at', new Date('2026-03-08T04:30:00Z')),
  taken: 12,
  refused: 1,
}

export const newOwnDomainSchema = namedSuccess('NewOwnDomain', holderFields, {
  examples: [{ status: 'success', ...ADDED }],
})
export const ownDomainSchema = named('OwnDomain', holderFields, { examples: [VERIFIED] })

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
