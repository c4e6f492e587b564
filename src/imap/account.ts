import { setTimeout as rest } from 'node:timers/promises'
import { maskAddress } from '../core/address.ts'
import type { AccountHealth } from '../core/gmail.ts'
import { logFault } from '../service/background/outage.ts'
import { openBudget } from './budget.ts'
import { type ImapSession, openLogin } from './connection.ts'
import { type FaultKind, ImapFault, pauseAfter } from './errors.ts'
import type { Looking } from './fetch.ts'
import { type ListedFolder, listFolders, specialFolders } from './folders.ts'
import {
  type AccountOptions,
  type AccountTempo,
  type ImapDeps,
  USUAL_LIMITS,
  USUAL_TEMPO,
} from './options.ts'
import { openPoisonMails } from './poison-mails.ts'
import { openWakeSignal, throttle, type WakeSignal, watch } from './poll-loop.ts'
import { openRemovals } from './removal.ts'

/** Fetches mail for an account's aliases over one lasting connection, until it is closed. */
export function openAccount(deps: ImapDeps, account: AccountOptions): { close(): Promise<void> } {
  const ended = new AbortController()
  const tempo = { ...USUAL_TEMPO, ...account.tempo }
  const bell = openWakeSignal()
  const asked = throttle(() => bell.ring('asked'), tempo.asked)
  const deaf = deps.onLook(asked.call)
  const done = fetchForEver({ deps, account, tempo, bell, ended: ended.signal })
  return {
    async close() {
      deaf()
      asked.stop()
      ended.abort()
      bell.ring('end')
      await done
    },
  }
}

interface Fetching {
  deps: ImapDeps
  account: AccountOptions
  tempo: AccountTempo
  bell: WakeSignal
  ended: AbortSignal
}

// A connection that lasted this long was a good one, and its end says nothing: Gmail ends each after about an hour.
const GOOD_MS = 60_000
// Networks blink and servers restart: nobody need hear of the first failures after all was well.
const SILENT_FAILURES = 2
const MAY_BLINK: readonly FaultKind[] = ['lost', 'unreachable', 'doubtful']

async function fetchForEver(fetching: Fetching): Promise<void> {
  const { deps, account, tempo, ended } = fetching
  const healthReporter = openHealthReporter(deps, maskAddress(account.email))
  const connectOnce = connections(fetching, healthReporter)
  let failures = 0
  let well = false
  await healthReporter.tell('starting', '')
  while (!ended.aborted) {
    const { fault, wellMs, progressed } = await connectOnce()
    if (ended.aborted) return
    const mayBlink = MAY_BLINK.includes(fault.kind)
    well ||= wellMs !== undefined
    const wasOfUse = (wellMs !== undefined && wellMs >= GOOD_MS) || (progressed && mayBlink)
    failures = wasOfUse ? 1 : failures + 1
    if (!well || failures > SILENT_FAILURES || !mayBlink) {
      well = false
      await healthReporter.tell('failing', fault.message)
    }
    const ms = pauseAfter(fault.kind, failures, { pause: tempo.pause, random: deps.random() })
    await rest(ms, undefined, { signal: ended }).catch(() => {})
  }
}

/** How one connection ended, and how long it was of use; undefined: never. */
interface Ended {
  fault: ImapFault
  wellMs: number | undefined
  /** Whether mail was dealt with: a mail that ends connections must not cost more than the tries it is given. */
  progressed: boolean
}

function connections(fetching: Fetching, healthReporter: HealthReporter): () => Promise<Ended> {
  const { deps, account, tempo, bell, ended } = fetching
  const masked = maskAddress(account.email)
  const limits = { ...USUAL_LIMITS, ...account.limits }
  const news = () => bell.ring('news')
  const connect = openLogin(account, { limits, tempo, news, ended }, deps.now)
  // These outlive a connection: the server counts on, and a mail that could not be read is still there.
  const lasting = { budget: openBudget(limits), doubts: openPoisonMails() }
  const removals = account.deleteAfterFetch ? openRemovals(masked, deps.log) : undefined

  function lookingWith(session: ImapSession, progressed: () => void): Looking {
    return {
      deps,
      account: { email: account.email, masked },
      session,
      ...lasting,
      limits,
      bodyMs: 4 * tempo.answer,
      retryMs: tempo.pause.lost,
      progressed,
      ended,
      fetched: (folder, uid) => removals?.add(folder, uid),
    }
  }

  return async function connectOnce(): Promise<Ended> {
    let session: ImapSession | undefined
    let wellSince: number | undefined
    let progressed = false
    let fault = new ImapFault('lost', 'the connection ended')
    try {
      session = await connect()
      const looking = lookingWith(session, () => {
        progressed = true
      })
      const { random } = deps
      await watch({
        looking,
        bell,
        removals,
        tempo,
        random,
        async looked(pause) {
          wellSince ??= deps.now().getTime()
          await healthReporter.tell(pause ? 'slow' : 'ok', pause?.reason ?? '')
        },
      })
    } catch (error) {
      fault = error instanceof ImapFault ? error : ownFault(error, masked, deps)
    } finally {
      await session?.close()
    }
    const wellMs = wellSince === undefined ? undefined : deps.now().getTime() - wellSince
    return { fault, wellMs, progressed }
  }
}

/** It is the house that could not keep a mail; the account is tried again like after a lost connection. */
function ownFault(error: unknown, account: string, { log }: ImapDeps): ImapFault {
  logFault(log, error, 'fetched mail could not be kept; tried again', { account })
  return new ImapFault('lost', 'fetched mail cannot be kept at the moment')
}

/** Tells the house and the operator how an account is, once for each change. */
interface HealthReporter {
  tell(health: AccountHealth, reason: string): Promise<void>
}

const SENTENCES: Record<AccountHealth, string> = {
  starting: 'an account is about to be fetched from',
  ok: 'an account is fetched from',
  slow: 'an account is fetched from slowly',
  failing: 'an account cannot be fetched from; tried again',
}

function openHealthReporter({ report, log }: ImapDeps, account: string): HealthReporter {
  let last = ''
  return {
    async tell(health, reason) {
      const state = `${health} ${reason}`
      if (state === last) return
      last = state
      const facts = reason ? { account, reason } : { account }
      if (health === 'failing') log.warn(facts, SENTENCES[health])
      else log.info(facts, SENTENCES[health])
      try {
        await report(health, reason)
      } catch (error) {
        // Fetching goes on; the next change is told again.
        last = ''
        logFault(log, error, 'the health of an account could not be kept', { account })
      }
    },
  }
}

/** How a login went, for the operator to read. */
type AccountTest = { ok: false; reason: string } | ({ ok: true } & AccountFacts)

interface AccountFacts {
  folders: ListedFolder[]
  /** The folders that are looked at beside INBOX, or moved to; undefined: there is none. */
  spam: string | undefined
  trash: string | undefined
  /** Whether the server tells of new mail at once. */
  idle: boolean
  /** Whether it knows Gmail's own ids. */
  gmail: boolean
}

/** Logs in once, lists the folders and leaves. Nothing there is changed. */
export async function testAccount(
  account: AccountOptions,
  now: () => Date = () => new Date(),
): Promise<AccountTest> {
  const tempo = { ...USUAL_TEMPO, ...account.tempo }
  const limits = { ...USUAL_LIMITS, ...account.limits }
  const connect = openLogin(account, { tempo, limits, news() {}, ended: NEVER }, now)
  let session: ImapSession | undefined
  try {
    session = await connect()
    const folders = await listFolders(session)
    const { idles: idle, gmail } = session
    return { ok: true, folders, ...specialFolders(folders), idle, gmail }
  } catch (error) {
    if (error instanceof ImapFault) return { ok: false, reason: error.message }
    throw error
  } finally {
    await session?.close()
  }
}

const NEVER = new AbortController().signal
