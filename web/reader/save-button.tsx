import { useAction } from '../site/action.tsx'
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

export function SaveButton(props: SaveButtonProps) {
  const { path, token, name, caption, class: className = 'plain' } = props
  const { isBusy, error, message, run } = useAction()
  const save = async () => {
    await download(path, token, name)
    return t('reader_attachment_saved', { name })
  }
  return (
    <>
      <Button
        icon="save"
        class={className}
        aria-label={`${caption}: ${name}`}
        disabled={isBusy}
        onClick={() => void run(save)}
      >
        <span>{isBusy ? t('reader_attachment_saving') : caption}</span>
      </Button>
      <span class={error === '' ? 'unseen' : 'fault'} role="status">
        {error === '' ? message : errorText(error)}
      </span>
    </>
  )
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
