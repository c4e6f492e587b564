import { send } from '../site/ask.ts'

/** Saves what the API gives as a file. The token goes as Bearer, which a plain link could not send. */
export async function download(path: string, token: string, name: string): Promise<void> {
  const response = await send(path, { token })
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
