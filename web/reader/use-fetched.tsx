import { useEffect, useState } from 'preact/hooks'
import { ApiError, errorText, isReachable } from '../site/api-client.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'

export type Fetched<T> =
  | { kind: 'loading' }
  | { kind: 'loaded'; value: T }
  /** `retry` is undefined if the message no longer exists. */
  | { kind: 'failed'; text: string; retry: (() => void) | undefined }

/** Fetches again when the key changes. */
export function useFetched<T>(key: string, fetch: (signal: AbortSignal) => Promise<T>): Fetched<T> {
  const [fetched, setFetched] = useState<Fetched<T> & { key?: string }>({ kind: 'loading' })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    setFetched({ kind: 'loading' })
    fetch(abort.signal).then(
      (value) => setFetched({ kind: 'loaded', key, value }),
      (error) => {
        if (abort.signal.aborted) return
        const isGone = error instanceof ApiError && error.code === 'message_not_found'
        const text = isGone ? t('reader_deleted') : errorText(error)
        const retry = isGone ? undefined : () => setAttempt(attempt + 1)
        setFetched({ kind: 'failed', key, text, retry })
      },
    )
    return () => abort.abort()
  }, [key, attempt])
  // The server responds again.
  useEffect(() => {
    if (isReachable.value && fetched.kind === 'failed') fetched.retry?.()
  }, [isReachable.value])
  // After a change of the key, the old value is there until the effect runs.
  return fetched.key === key ? fetched : { kind: 'loading' }
}

export function LoadingOrError({ fetched }: { fetched: Fetched<unknown> }) {
  if (fetched.kind !== 'failed') {
    return (
      <p class="soft reader-wait" role="status">
        {t('site_loading')}
      </p>
    )
  }
  if (!fetched.retry) {
    return (
      <p class="notice" role="status">
        {fetched.text}
      </p>
    )
  }
  return (
    <div class="reader-wait" role="alert">
      <p class="fault">{fetched.text}</p>
      <Button class="plain" onClick={fetched.retry}>
        {t('site_try_again')}
      </Button>
    </div>
  )
}
