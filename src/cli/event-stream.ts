export interface StreamEvent {
  name: string
  content: string
}

/** Reads server-sent events off a stream of bytes, as the HTML standard has them; comments are left out. */
export async function* eventStream(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  let name = ''
  let content: string[] = []
  for await (const line of lines(bytes)) {
    if (line === '') {
      if (content.length > 0) yield { name: name || 'message', content: content.join('\n') }
      name = ''
      content = []
      continue
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') name = value
    if (field === 'data') content.push(value)
  }
}

async function* lines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of bytes) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/)
    rest = parts.pop() ?? ''
    yield* parts
  }
}
