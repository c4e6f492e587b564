import { effect } from '@preact/signals'
import { isExpired, type Mailbox } from '../address/mailbox.ts'
import { mailboxes } from '../address/mailboxes.ts'
import { serverNow } from '../address/server-clock.ts'
import type { Message, MessageSummary } from '../site/api.ts'
import { keepsTexts, keptMessages } from '../site/kept-mail.ts'
import { loadedMessages, messageStore, transport } from './messages.ts'

// What the page needs to open without a connection: its files, by the service worker, and the last lists. All of an address
// is removed with it.

const CACHE = 'mayfly mail'
const listUrl = (email: string) => `/offline/${encodeURIComponent(email)}/list`
const textUrl = (email: string, id: number) => `/offline/${encodeURIComponent(email)}/${id}`

/** One after the other, so that nothing is written after it was removed. */
let written = Promise.resolve()
function enqueue(write: (cache: Cache) => Promise<unknown>): void {
  written = written
    .then(async () => {
      await write(await caches.open(CACHE))
    })
    // The browser refuses storage: then there is nothing to read offline.
    .catch(() => undefined)
}

export function startOffline(): void {
  void keepFiles().catch(() => undefined)
  effect(removeEnded)
  effect(keepLists)
  effect(() => {
    if (!keepsTexts.value) enqueue(removeTexts)
  })
  effect(() => {
    const { kind } = transport.value
    if (kind === 'offline' || kind === 'unreachable')
      for (const one of liveMailboxes()) void seed(one)
  })
  keptMessages.value = {
    save(token, message) {
      const email = emailOf(token)
      if (email && keepsTexts.peek())
        enqueue((cache) => cache.put(textUrl(email, message.id), Response.json(message)))
    },
    async find(token, id) {
      const email = emailOf(token)
      return email ? await read<Message>(textUrl(email, id)) : undefined
    },
  }
}

/** The page, and the files that it has loaded and loads later, the script first. */
async function keepFiles(): Promise<void> {
  await navigator.serviceWorker.register('/sw.js')
  const { active } = await navigator.serviceWorker.ready
  const script = document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? ''
  const keep = (entries: PerformanceEntryList) => {
    const files = entries
      .map(({ name }) => name)
      .filter((url) => new URL(url).pathname.startsWith('/assets/'))
    const urls = [...new Set([script, ...files])]
    if (files.length > 0) (navigator.serviceWorker.controller ?? active)?.postMessage(urls)
  }
  new PerformanceObserver((list) => keep(list.getEntries())).observe({
    type: 'resource',
    buffered: true,
  })
}

const liveMailboxes = () => mailboxes.value.filter((one) => !isExpired(one, serverNow()))
const emailOf = (wanted: string) => mailboxes.peek().find(({ token }) => token === wanted)?.email

function removeEnded(): void {
  const prefixes = liveMailboxes().map(({ email }) => listUrl(email).replace(/list$/, ''))
  enqueue(async (cache) => {
    for (const { url } of await cache.keys()) {
      const { pathname } = new URL(url)
      if (!prefixes.some((prefix) => pathname.startsWith(prefix))) await cache.delete(url)
    }
  })
}

/** Also from lists that are not loaded, as without a connection. */
async function removeTexts(cache: Cache): Promise<void> {
  for (const { url } of await cache.keys()) {
    const list = url.endsWith('/list') ? await cache.match(url) : undefined
    if (list) await cache.put(url, Response.json(withoutTexts(await list.json())))
    else await cache.delete(url)
  }
}

const withoutTexts = (rows: readonly MessageSummary[]) =>
  rows.map((message) => ({ ...message, code: null, preview: null }))

const storedLists = new Map<string, string>()

/** Senders and subjects; what is in the text only if the user wants it. */
function keepLists(): void {
  const emails = new Set(liveMailboxes().map(({ email }) => email))
  for (const [email, messages] of loadedMessages.value) {
    const text = JSON.stringify(keepsTexts.value ? messages : withoutTexts(messages))
    if (!emails.has(email) || storedLists.get(email) === text) continue
    storedLists.set(email, text)
    enqueue(async (cache) => {
      await cache.put(listUrl(email), new Response(text))
      await removeDeleted(cache, email, messages)
    })
  }
  for (const email of storedLists.keys()) if (!emails.has(email)) storedLists.delete(email)
}

/** Texts of messages that are no longer in the list. */
async function removeDeleted(
  cache: Cache,
  email: string,
  messages: readonly MessageSummary[],
): Promise<void> {
  const kept = new Set([listUrl(email), ...messages.map(({ id }) => textUrl(email, id))])
  const prefix = listUrl(email).replace(/list$/, '')
  for (const { url } of await cache.keys()) {
    const { pathname } = new URL(url)
    if (pathname.startsWith(prefix) && !kept.has(pathname)) await cache.delete(url)
  }
}

async function seed({ email }: Mailbox): Promise<void> {
  const rows = await read<MessageSummary[]>(listUrl(email))
  if (rows) messageStore.seed(email, rows)
}

async function read<T>(url: string): Promise<T | undefined> {
  await written
  try {
    const response = await (await caches.open(CACHE)).match(url)
    return response && ((await response.json()) as T)
  } catch {
    return undefined
  }
}
