import { writeFileSync } from 'node:fs'
import type { Mayfly } from '../contestants/mayfly.ts'
import { tokenOf } from './fill.ts'
import type { Asking } from './loads.ts'

export type Case = Pick<Asking, 'path' | 'paths' | 'headers'> & { name: string }

/** The same mailbox again and again: nothing changes, so no list is made after the first. */
export async function answeredFromMemory(mayfly: Mayfly): Promise<Case[]> {
  const { token: empty } = await mayfly.session()
  const path = pathOf(tokenOf(0))
  return [
    { name: 'empty', path: pathOf(empty) },
    { name: '10 messages', path },
    { name: 'unchanged (304)', path, headers: await ifChanged(mayfly, path) },
  ]
}

/** What a client says that has seen the list. */
export async function ifChanged({ url }: Mayfly, path: string): Promise<Record<string, string>> {
  const { headers } = await fetch(`${url}${path}`)
  return { 'If-None-Match': headers.get('etag') ?? '' }
}

/** A thousand mailboxes from all over the store, one after the other: of each the list is made once. */
export function inTurn(sessions: number, file: string): Case {
  writeFileSync(file, tokensOf(sessions).map(pathOf).join('\n'))
  return { name: '1,000 mailboxes in turn, 10 messages', path: '/', paths: file }
}

/** The same mailboxes, each list asked for at a length that is not in memory. */
export function fromStore(sessions: number, file: string): Case {
  const paths = tokensOf(sessions).map(pathOf)
  const lines: string[] = []
  for (let limit = 101; limit <= 500; limit += 1) {
    for (const path of paths) lines.push(`${path}&limit=${limit}`)
  }
  writeFileSync(file, lines.join('\n'))
  return { name: '10 messages, read from the store', path: '/', paths: file }
}

function tokensOf(sessions: number): string[] {
  const boxes = Math.min(sessions, 1_000)
  return Array.from({ length: boxes }, (_, box) => tokenOf(Math.floor((box * sessions) / boxes)))
}

function pathOf(token: string): string {
  return `/api/check-mail?token=${token}`
}
