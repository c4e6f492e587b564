import type { Mail } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import type { MailStore } from '../store/store.ts'
import type { Parsed } from './read-mail.ts'

export interface ParseOnceNeeds {
  store: Pick<MailStore, 'readRaw' | 'readParsed' | 'keepParsed' | 'obstacle'>
  /** With a name: nobody waits for it yet. Under that name it can be hastened. */
  parse(raw: Uint8Array, later?: number): Promise<Mail>
  hasten?(name: number): void
}

interface UnderWay {
  /** Nobody waited for it when it was begun. */
  later: boolean
  hastened: boolean
  mail: Promise<Mail | undefined>
}

/** Reads the kept parse of a mail, or parses it and keeps that. However many ask at once, it is parsed once. */
export function parseOnce({ store, parse, hasten }: ParseOnceNeeds): Parsed {
  const underWay = new Map<number, UnderWay>()
  let isFull = false

  async function find(rawId: number): Promise<Mail | undefined> {
    const kept = await store.readParsed(rawId)
    if (kept) return kept
    const raw = await store.readRaw(rawId)
    if (!raw) return undefined
    const begun = underWay.get(rawId)
    const mail = await parse(raw.bytes, begun?.later && !begun.hastened ? rawId : undefined)
    const isAsked = !begun?.later || begun.hastened
    if (isAsked || (await hasRoom())) await keep(rawId, mail)
    return mail
  }

  // What nobody has asked to read takes no space from mail where that is scarce, and a write that finds none takes with it
  // whatever shares its commit.
  async function hasRoom(): Promise<boolean> {
    return !isFull && (await store.obstacle()) === undefined
  }

  // A full disk keeps nobody from reading: the next reader then parses again.
  async function keep(rawId: number, mail: Mail): Promise<void> {
    try {
      await store.keepParsed(rawId, mail)
      isFull = false
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      isFull = true
    }
  }

  function start(rawId: number, later: boolean): Promise<Mail | undefined> {
    const begun: UnderWay = { later, hastened: false, mail: Promise.resolve(undefined) }
    underWay.set(rawId, begun)
    begun.mail = find(rawId).finally(() => underWay.delete(rawId))
    return begun.mail
  }

  async function join(rawId: number, begun: UnderWay): Promise<Mail | undefined> {
    if (!begun.hastened) hasten?.(rawId)
    begun.hastened = true
    try {
      return await begun.mail
    } catch {
      // Refused for want of room among those that nobody waits for: there may be room for us.
      return await (underWay.get(rawId)?.mail ?? start(rawId, false))
    }
  }

  return async (rawId, haste) => {
    const begun = underWay.get(rawId)
    if (!begun) return await start(rawId, haste === 'later')
    return await (begun.later && haste !== 'later' ? join(rawId, begun) : begun.mail)
  }
}
