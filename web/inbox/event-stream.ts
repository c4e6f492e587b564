/** One event of a text/event-stream; `kind` is its name there. */
export interface StreamEvent {
  kind: string
  text: string
}

export interface EventReader {
  /** The events that this piece completes. A piece may end anywhere, also within a line break. */
  take(piece: string): StreamEvent[]
  /** Where a new stream goes on: the last id that was told, also by an event without text. */
  lastId(): string | undefined
}

/** Reads server-sent events out of a stream that comes in pieces. EventSource itself can send no Bearer. */
export function eventReader(): EventReader {
  let rest = ''
  let begun = false
  let lastId: string | undefined
  let open = fresh()

  /** One line without its break; an empty one ends the event. */
  function line(text: string): StreamEvent | undefined {
    if (text !== '') note(text)
    return text === '' ? end() : undefined
  }

  function note(text: string): void {
    const [field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(text)?.slice(1) ?? []
    if (field === 'event') open.kind = value
    if (field === 'data') open.lines.push(value)
    if (field === 'id' && !value.includes('\0')) open.id = value
  }

  function end(): StreamEvent | undefined {
    const { kind, id, lines } = open
    open = fresh()
    lastId = id ?? lastId
    return lines.length > 0 ? { kind: kind || 'message', text: lines.join('\n') } : undefined
  }

  return {
    take(piece) {
      rest += piece
      if (!begun && rest !== '') {
        begun = true
        rest = rest.replace(/^\uFEFF/, '')
      }
      // A CR at the very end may be half of a CRLF: it waits for what follows.
      const lines = rest.split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      return lines.flatMap((text) => line(text) ?? [])
    },
    lastId: () => lastId,
  }
}

function fresh(): { kind: string; id: string | undefined; lines: string[] } {
  return { kind: '', id: undefined, lines: [] }
}
