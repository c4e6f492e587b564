import { writeFileSync } from 'node:fs'
import type { Mayfly } from '../contestants/mayfly.ts'
import { tokenOf } from './fill.ts'
import type { Asking } from './loads.ts'

export type Case = Pick<Asking, 'path' | 'paths' | 'headers'> & { name: string }

/** The same mailbox again and again: nothing changes, so no list is made after the first. */
export async function answeredFromMemory(mayfly: Mayfly): Promise<Case[]> {
  const { token: empty } = await mayfly.session()
  const path = `/api/check-mail?token=${tokenOf(0)}`
  return [
    { name: 'empty', path: `/api/check-mail?token=${empty}` },
    { name: '10 messages', path },
    { name: 'unchanged (304)', path, headers: await ifChanged(mayfly, path) },
  ]
}

/** What a client says that has seen the list. */
export async function ifChanged({ url }: Mayfly, path: string): Promise<Record<string, string>> {
  const { headers } = await fetch(`${url}${path}`)
  return { 'If-None-Match': headers.get('etag') ?? '' }
}

/** A thousand mailboxes from all over the store, each list asked for at a length that is not in memory. */
export function fromStore(sessions: number, file: string): Case {
  const boxes = Math.min(sessions, 1_000)
  const lines: string[] = []
  for (let limit = 101; limit <= 500; limit += 1) {
    for (let box = 0; box < boxes; box += 1) {
      const token = tokenOf(Math.floor((box * sessions) / boxes))
      lines.push(`/api/check-mail?token=${token}&limit=${limit}`)
    }
  }
  writeFileSync(file, lines.join('\n'))
  return { name: '10 messages, read from the store', path: '/', paths: file }
}
