import { Type } from 'typebox'
import { Problem } from '../base/problem.ts'
import { DEFAULT_LIMIT, nextField, pageFields, parseCursor } from '../http/server/admin-list.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { success } from '../http/server/response.ts'
import {
  countField,
  enumField,
  messageSchema,
  named,
  nullableTimeFields,
  successSchema,
} from '../http/server/schemas.ts'
import { addBlock, type BlockDeps, blockJson, listBlocks, removeBlock } from './blocks.ts'
import { DANGER_CODES } from './rules.ts'

export interface BlockRouteDeps extends ServerDeps, Omit<BlockDeps, 'now'> {}

const kind = enumField(['domain', 'address', 'network'])
const entry = Type.String({
  description: 'A sender domain, with its subdomains, an address, an IP address or a CIDR range.',
})

export const blockRoutes = [
  adminRoute({
    method: 'GET',
    path: '/blocks',
    title: 'Block list',
    description: 'Blocked senders, last changed first.',
    input: Type.Object({
      text: Type.Optional(Type.String({ description: 'Only entries that contain this text.' })),
      ...pageFields,
    }),
    output: successSchema({
      blocks: Type.Array(
        named('Block', {
          entry: Type.String({ examples: ['spam.example'] }),
          kind,
          note: Type.String(),
          number: countField(1),
          ...nullableTimeFields('created_at'),
          ...nullableTimeFields('expires_at'),
        }),
      ),
      total: countField(1),
      next: nextField,
    }),
    async handle({ text, before: cursor, limit = DEFAULT_LIMIT }, deps: BlockRouteDeps) {
      const before = parseCursor(cursor)?.rank
      const { blocks, total, next } = await listBlocks(deps, { limit, before, text })
      return success({ blocks: blocks.map(blockJson), total, next: next?.toString() ?? null })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/blocks',
    title: 'Block a sender',
    description:
      'Refuses mail from this sender, on all nodes within a second. An existing entry gets the new note and end.',
    input: Type.Object({
      entry,
      note: Type.Optional(Type.String({ description: 'Why, for your own use.' })),
      ttl: Type.Optional(
        Type.String({ description: 'How long, such as 12h or 30d; default: until it is removed.' }),
      ),
      force: Type.Optional(
        Type.Boolean({
          description:
            '1: also ranges wider than /8 (IPv6: /16), top-level domains, private addresses, and what belongs to this installation.',
        }),
      ),
    }),
    output: successSchema({ entry: Type.String(), kind, is_new: Type.Boolean() }),
    problems: DANGER_CODES,
    async handle({ entry: text, ...options }, deps: BlockRouteDeps) {
      const { isNew, ...added } = await addBlock(deps, text, options)
      return success({ ...added, is_new: isNew })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/blocks/remove',
    title: 'Remove a block',
    description: 'Accepts mail from this sender again.',
    input: Type.Object({ entry }),
    output: messageSchema,
    problems: ['not_found'],
    async handle({ entry: text }, deps: BlockRouteDeps) {
      if (!(await removeBlock(deps, text))) {
        throw new Problem('not_found', 'The list has no such entry.')
      }
      return success({ message: 'Block removed.' })
    },
  }),
]
