import { useEffect, useState } from 'preact/hooks'
import type { ApiResponses, Message, MessageSummary } from '../site/api.ts'
import { NetworkError, requestJson } from '../site/api-client.ts'
import { keptMessages } from '../site/kept-mail.ts'
import { siteConfig } from '../site/site-config.ts'
import { useFetched } from './use-fetched.tsx'

// Checking a sender rarely takes longer.
const CHECK_MS = 4_000

export function useMessage(token: string, summary: MessageSummary) {
  const { id } = summary
  const fetched = useFetched(`${token} ${id}`, (signal) => readMail({ id }, token, signal))
  const loaded = fetched.kind === 'loaded' ? fetched.value : undefined
  const [recheck, setRecheck] = useState<{ of: Message; auth: Message['auth'] }>()
  const isRechecked = recheck !== undefined && recheck.of === loaded
  const auth = isRechecked ? recheck.auth : loaded?.auth
  const isUnchecked = loaded !== undefined && auth === null && siteConfig.checks

  useEffect(() => {
    if (!loaded || !isUnchecked) return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      readMail({ id }, token, abort.signal).then(
        // The rest of the message stays as it is on the page.
        (message) => setRecheck({ of: loaded, auth: message.auth }),
        // Mail fetched from Gmail, for example, cannot be checked.
        () => setRecheck({ of: loaded, auth: null }),
      )
    }, CHECK_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
    // An `updated` event makes a new summary object.
  }, [loaded, isUnchecked, summary])

  return {
    fetched,
    /** Undefined until it is loaded. */
    message: loaded && { ...loaded, auth: auth ?? null },
    /** The result of the sender checks is not there yet, but may come. */
    isChecking: isUnchecked && !isRechecked,
  }
}

export async function readMail(
  values: { id: number; headers?: 1 },
  token: string,
  signal: AbortSignal,
): Promise<Message> {
  const options = { token, values, signal }
  try {
    const { message } = await requestJson<ApiResponses['GET /api/read-mail']>(
      '/api/read-mail',
      options,
    )
    keptMessages.peek()?.save(token, message)
    return message
  } catch (error) {
    const kept =
      error instanceof NetworkError ? await keptMessages.peek()?.find(token, values.id) : undefined
    if (kept) return kept
    throw error
  }
}
