import { expect } from 'vitest'

/** A stream read block by block, as an EventSource does: the fields of each event. */
export async function openStreamAt(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  expect(response.status).toBe(200)
  expect.assert(response.body)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let received = ''
  const next = async (): Promise<Record<string, string> | undefined> => {
    while (!received.includes('\n\n')) {
      const { done, value } = await reader.read()
      if (done) return undefined
      received += value
    }
    const [block = ''] = received.split('\n\n', 1)
    received = received.slice(block.length + 2)
    return Object.fromEntries(
      block
        .split('\n')
        .map((line) => [
          line.slice(0, line.indexOf(':')),
          line.slice(line.indexOf(':') + 1).trim(),
        ]),
    )
  }
  return { headers: response.headers, next, end: () => reader.cancel() }
}
