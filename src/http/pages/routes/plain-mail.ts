import { Type } from 'typebox'
import { deleteMail } from '../../../service/mail/delete-mail.ts'
import { readMail } from '../../../service/mail/read-mail.ts'
import { attachmentRoute } from '../../api/attachment.ts'
import { rawMailRoute } from '../../api/raw-mail.ts'
import { idField } from '../../api/schemas.ts'
import { empty } from '../../server/response.ts'
import type { Route } from '../../server/route.ts'
import { mailPage } from '../plain-mail.ts'
import { INBOX } from '../plain-page.ts'
import { holderRoute } from '../plain-route.ts'

/** One message without scripts. */
export const plainMailRoutes: readonly Route[] = [
  holderRoute({
    method: 'GET',
    path: '/plain/mail/{id}',
    title: 'A message without scripts',
    about: 'One message as text.',
    input: Type.Object({ id: idField }),
    async answer({ id }, { deps, site, token, call: { client, signal } }) {
      const read = await readMail(deps, { token, id, client, signal: signal() })
      return mailPage(site, { ...read, token })
    },
  }),
  holderRoute({
    method: 'GET',
    path: '/plain/mail/{id}/raw',
    title: 'Download a message without scripts',
    about: 'What raw-mail gives, for who has the cookie.',
    input: Type.Object({ id: idField }),
    output: 'message/rfc822',
    answer: ({ id }, { deps, call, token }) => rawMailRoute.handle({ token, id }, deps, call),
  }),
  holderRoute({
    method: 'GET',
    path: '/plain/mail/{id}/files/{index}',
    title: 'Download an attachment without scripts',
    about: 'What attachment gives, for who has the cookie.',
    input: Type.Object({ id: idField, index: Type.Integer({ minimum: 0 }) }),
    output: 'application/octet-stream',
    answer: ({ id, index }, { deps, call, token }) =>
      attachmentRoute.handle({ token, id, index }, deps, call),
  }),
  holderRoute({
    method: 'POST',
    path: '/plain/mail/{id}/delete',
    title: 'Delete a message without scripts',
    about: 'Deletes one message for good.',
    input: Type.Object({ id: idField, proof: Type.Optional(Type.String()) }),
    async answer({ id }, { deps, token }) {
      await deleteMail(deps, token, id)
      return empty(303, { location: INBOX })
    },
  }),
]
