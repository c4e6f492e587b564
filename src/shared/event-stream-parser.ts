/** One server-sent event. */
export interface ServerSentEvent {
  /** `message` if the stream does not name it. */
  name: string
  data: string
}

/**
 * Returns a parser for a `text/event-stream` that arrives in chunks, cut anywhere: it takes a chunk and returns the events
 * that the chunk completes. Event ids are ignored. A server that drains sends the comment `shutting_down` and when to
 * reconnect; that becomes an event of this name whose data is the delay in milliseconds.
 */
export function eventStreamParser(): (chunk: Uint8Array) => ServerSentEvent[] {
  const decoder = new TextDecoder()
  let rest = ''
  let fields: string[][] = []

  return (chunk) => {
    rest += decoder.decode(chunk, { stream: true })
    // A CR at the very end may be half of a CRLF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    return lines.flatMap((line) => {
      if (line !== '') {
        fields.push(/^([^:]*):? ?(.*)$/s.exec(line)?.slice(1) ?? [])
        return []
      }
      const event = eventOf(fields)
      fields = []
      return event ?? []
    })
  }
}

/** A comment is a field without a name. */
function eventOf(fields: readonly string[][]): ServerSentEvent | undefined {
  const values = (wanted: string) =>
    fields.flatMap(([name, value = '']) => (name === wanted ? [value] : []))
  if (values('').includes('shutting_down')) {
    return { name: 'shutting_down', data: values('retry').at(-1) ?? '' }
  }
  const data = values('data')
  if (data.length === 0) return undefined
  return { name: values('event').at(-1) || 'message', data: data.join('\n') }
}
