/** One event of a text/event-stream; `kind` is its name there. A server that stops says goodbye: `text` is when to come back, in ms. */
export interface StreamEvent {
  kind: string
  text: string
}

/** The events that a piece completes. It may end anywhere, also within a line break. */
type EventReader = (piece: string) => StreamEvent[]

/**
 * Reads server-sent events out of a stream that comes in pieces. EventSource itself can send no Bearer. Ids of events are
 * passed over: a message has its own.
 */
export function eventReader(): EventReader {
  let rest = ''
  let begun = false
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
    if (field === 'retry') open.retry = value
    if (field === '' && value === 'shutting_down') open.goodbye = true
  }

  function end(): StreamEvent | undefined {
    const { kind, lines, goodbye, retry } = open
    open = fresh()
    if (goodbye) return { kind: 'goodbye', text: retry }
    return lines.length > 0 ? { kind: kind || 'message', text: lines.join('\n') } : undefined
  }

  return (piece) => {
    rest += piece
    if (!begun && rest !== '') {
      begun = true
      rest = rest.replace(/^\uFEFF/, '')
    }
    // A CR at the very end may be half of a CRLF: it waits for what follows.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    return lines.flatMap((text) => line(text) ?? [])
  }
}

function fresh(): { kind: string; lines: string[]; retry: string; goodbye: boolean } {
  return { kind: '', lines: [], retry: '', goodbye: false }
}
