import { useState } from 'preact/hooks'
import { t } from './texts.ts'

/** The line below a form or a list: what was done, or why not. */
export function useStatus() {
  const [status, setStatus] = useState<{ text: string; isError: boolean }>()
  /** Shows the error of an action, and keeps the page as it is. */
  const attempt = async (action: () => Promise<string | undefined>): Promise<boolean> => {
    try {
      const text = await action()
      setStatus(text === undefined ? undefined : { text, isError: false })
      return true
    } catch (error) {
      setStatus({ text: (error as Error).message, isError: true })
      return false
    }
  }
  /** Of what nobody asked for: it does not replace the result of an action. */
  const report = (error: Error) =>
    setStatus((shown) => shown ?? { text: error.message, isError: true })
  const line = (
    <p id="status" role="status" class={status?.isError ? 'error' : ''}>
      {status?.text}
    </p>
  )
  return { line, attempt, report }
}

export type Attempt = ReturnType<typeof useStatus>['attempt']

/** Once, before the first text is shown. */
export function setLanguage(): void {
  document.documentElement.lang = t('language')
  document.documentElement.dir = t('direction')
}
