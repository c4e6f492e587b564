import { useState } from 'preact/hooks'
import { errorText, request } from '../site/api-client.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'

interface SaveButtonProps {
  path: string
  token: string
  /** File name. */
  name: string
  caption: string
  class?: string
}

type State = 'ready' | 'saving' | 'saved' | { error: string }

export function SaveButton(props: SaveButtonProps) {
  const { path, token, name, caption, class: className = 'plain' } = props
  const [state, setState] = useState<State>('ready')
  const save = async () => {
    setState('saving')
    try {
      await download(path, token, name)
      setState('saved')
    } catch (error) {
      setState({ error: errorText(error) })
    }
  }
  return (
    <>
      <Button
        icon="save"
        class={className}
        aria-label={`${caption}: ${name}`}
        disabled={state === 'saving'}
        onClick={() => void save()}
      >
        <span>{state === 'saving' ? t('reader_attachment_saving') : caption}</span>
      </Button>
      <span class={typeof state === 'object' ? 'fault' : 'unseen'} role="status">
        {statusText(state, name)}
      </span>
    </>
  )
}

function statusText(state: State, name: string): string {
  if (typeof state === 'object') return state.error
  return state === 'saved' ? t('reader_attachment_saved', { name }) : ''
}

/** A plain link cannot send the bearer token. */
export async function download(path: string, token: string, name: string): Promise<void> {
  const response = await request(path, { token })
  const bytes = await response.arrayBuffer()
  // A type that no browser displays: the file is saved and never opened.
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The download has started by then. Unrevoked, the bytes would stay in memory as long as the page.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
