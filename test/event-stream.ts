import assert from 'node:assert/strict'

/** The live stream of a session, and all that was heard of it since it was last forgotten. */
export async function followEvents(
  url: string,
  token: string,
  headers: Record<string, string> = {},
) {
  const { body } = await fetch(`${url}/api/events?token=${token}`, { headers })
  assert.ok(body)
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  return {
    heard: () => heard,
    forget() {
      heard = ''
    },
    async until(wanted: RegExp): Promise<void> {
      while (!wanted.test(heard)) {
        const { done, value } = await reader.read()
        assert.ok(!done, `the stream ended: ${heard}`)
        heard += value
      }
    },
    async untilEnd(): Promise<void> {
      for (let read = await reader.read(); !read.done; read = await reader.read())
        heard += read.value
    },
    end: () => reader.cancel(),
  }
}
