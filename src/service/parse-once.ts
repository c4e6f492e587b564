import type { Mail } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import type { MailStore } from '../store/store.ts'
import type { Parsed } from './read-mail.ts'

export interface ParseOnceNeeds {
  store: Pick<MailStore, 'readRaw' | 'readParsed' | 'keepParsed'>
  parse(raw: Uint8Array): Promise<Mail>
}

/** Reads the kept parse of a mail, or parses it and keeps that. However many ask at once, it is parsed once. */
export function parseOnce({ store, parse }: ParseOnceNeeds): Parsed {
  const underWay = new Map<number, Promise<Mail | undefined>>()

  async function find(rawId: number): Promise<Mail | undefined> {
    const kept = await store.readParsed(rawId)
    if (kept) return kept
    const raw = await store.readRaw(rawId)
    if (!raw) return undefined
    const mail = await parse(raw.bytes)
    await keep(rawId, mail)
    return mail
  }

  // A full disk keeps nobody from reading: the next reader then parses again.
  async function keep(rawId: number, mail: Mail): Promise<void> {
    try {
      await store.keepParsed(rawId, mail)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
    }
  }

  function start(rawId: number): Promise<Mail | undefined> {
    const found = find(rawId).finally(() => underWay.delete(rawId))
    underWay.set(rawId, found)
    return found
  }

  return async (rawId) => await (underWay.get(rawId) ?? start(rawId))
}
