import { effect } from '@preact/signals'
import { isSuspicious } from '../../src/shared/sender-display.ts'
import { currentMailbox } from '../address/mailboxes.ts'
import type { ApiResponses, Message, MessageList } from '../site/api.ts'
import { ApiError, NetworkError, requestJson } from '../site/api-client.ts'
import { parseLink } from '../site/link-target.ts'
import { siteConfig } from '../site/site-config.ts'
import { MAX_LISTED } from './message-list.ts'
import { type ActionLink, actionLinks, messages } from './messages.ts'
import { delay } from './sync/retry.ts'

// Each takes a request; older ones show their link when they are opened.
const MAX_LOADED = 10
// Checking a sender rarely takes longer.
const CHECK_SECONDS = 4

/** Tokens and ids of messages whose link must not be offered. */
const refused = new Set<string>()

/** Finds the messages with a link to follow, and loads the links of the newest. Again when others have been parsed. */
export function startLinks(): () => void {
  let running: AbortController | undefined
  let known = ''
  return effect(() => {
    const token = currentMailbox.value?.token
    const parsed = messages.value.filter(({ preview }) => typeof preview === 'string')
    const key = `${token} ${parsed.map(({ id }) => id).join(' ')}`
    if (key === known) return
    known = key
    running?.abort()
    if (!token || parsed.length === 0) return
    running = new AbortController()
    void findLinks(token, running.signal)
  })
}

async function findLinks(token: string, signal: AbortSignal): Promise<void> {
  try {
    const options = { token, values: { has_link: 1, limit: MAX_LISTED }, signal }
    const found = await requestJson<MessageList>('/api/check-mail', options)
    const ids = found.messages.map(({ id }) => id)
    actionLinks.value = new Map(ids.map((id) => [id, actionLinks.value.get(id)]))
    // One with a code shows that.
    const withoutCode = found.messages.filter(({ code }) => code === null).map(({ id }) => id)
    for (const id of withoutCode.slice(0, MAX_LOADED)) {
      if (actionLinks.value.get(id) || refused.has(`${token} ${id}`)) continue
      const link = await loadLink(id, token, signal)
      if (!link) refused.add(`${token} ${id}`)
      if (signal.aborted) return
      if (link) actionLinks.value = new Map([...actionLinks.value, [id, link]])
    }
  } catch (error) {
    // The message itself shows them.
    if (signal.aborted || error instanceof ApiError || error instanceof NetworkError) return
    throw error
  }
}

async function loadLink(
  id: number,
  token: string,
  signal: AbortSignal,
): Promise<ActionLink | undefined> {
  const options = { token, values: { id }, signal }
  const read = async () =>
    (await requestJson<ApiResponses['GET /api/read-mail']>('/api/read-mail', options)).message
  let message = await read()
  if (message.auth === null && siteConfig.checks) {
    await delay(CHECK_SECONDS, signal, { isFixed: true })
    message = await read()
  }
  return actionLinkOf(message)
}

const KINDS = ['verify', 'sign_in', 'reset'] as const

/** Undefined if the sender may be forged. */
function actionLinkOf({ links, sender_name, sender_email, auth }: Message): ActionLink | undefined {
  if (isSuspicious(sender_name, sender_email, auth)) return undefined
  const kind = KINDS.find((one) => links.some((link) => link.kind === one))
  const target = parseLink(links.find((one) => one.kind === kind)?.url ?? '')
  if (!kind || target.kind !== 'web') return undefined
  return { kind, url: target.href, host: target.host }
}
