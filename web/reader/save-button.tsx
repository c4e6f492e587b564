import { useState } from 'preact/hooks'
import { errorText, request } from '../site/api-client.ts'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'

interface SaveButtonProps {
  /** Where the API has it. */
  path: string
  token: string
  /** How the file will be called. */
  name: string
  words: string
  class?: string
}

type State = 'ready' | 'saving' | 'saved' | { fault: string }

/** Saves a file, and says how that went. */
export function SaveButton({ path, token, name, words, class: look = 'plain' }: SaveButtonProps) {
  const [state, setState] = useState<State>('ready')
  const save = async () => {
    setState('saving')
    try {
      await download(path, token, name)
      setState('saved')
    } catch (fault) {
      setState({ fault: errorText(fault) })
    }
  }
  return (
    <>
      <button
        type="button"
        class={look}
        aria-label={`${words}: ${name}`}
        disabled={state === 'saving'}
        onClick={() => void save()}
      >
        <Icon name="save" />
        <span>{state === 'saving' ? t('reader_file_saving') : words}</span>
      </button>
      <span class={typeof state === 'object' ? 'fault' : 'unseen'} role="status">
        {statusText(state, name)}
      </span>
    </>
  )
}

function statusText(state: State, name: string): string {
  if (typeof state === 'object') return state.fault
  return state === 'saved' ? t('reader_file_saved', { name }) : ''
}

/** Saves what the API gives as a file. The token goes as Bearer, which a plain link could not send. */
export async function download(path: string, token: string, name: string): Promise<void> {
  const response = await request(path, { token })
  const bytes = await response.arrayBuffer()
  // A type that no browser shows: whatever the file is, it is saved and not opened.
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has taken hold of it by then; without this the bytes would stay as long as the page.
  setTimeout(() => URL.revokeObjectURL(url), HELD_MS)
}

const HELD_MS = 60_000
