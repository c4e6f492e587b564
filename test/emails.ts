import type { Asked } from './ask.ts'

/** An answer of /emails as a client of it sees it. */
export interface Element {
  address?: string
  emails: Email[]
}

export interface Email {
  id: number
  from: string
  to: string
  subject: string
  date: string
  date_iso: string
  body: string
  truncated?: true
}

export function elements({ status, text }: Asked): Element[] {
  if (status !== 200) throw new Error(`${status} ${text}`)
  return JSON.parse(text) as Element[]
}

/** Of all recipients, newest first as they are told. */
export function emailsOf(asked: Asked): Email[] {
  return elements(asked).flatMap(({ emails }) => emails)
}
