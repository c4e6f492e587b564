/** A connection of WebDriver BiDi: https://www.w3.org/TR/webdriver-bidi/ */
export interface Bidi {
  send(method: string, params?: object): Promise<Record<string, unknown>>
  close(): void
}

interface Reply {
  id?: number
  type: 'success' | 'error' | 'event'
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: string
  message?: string
}

interface Pending {
  resolve(result: Record<string, unknown>): void
  reject(fault: Error): void
}

export async function connectBidi(
  url: string,
  onEvent: (method: string, params: Record<string, unknown>) => void,
): Promise<Bidi> {
  const socket = new WebSocket(url)
  const pending = new Map<number, Pending>()
  let lastId = 0
  socket.addEventListener('message', ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply
    if (reply.type === 'event') return onEvent(reply.method ?? '', reply.params ?? {})
    const { resolve, reject } = pending.get(reply.id ?? 0) ?? {}
    pending.delete(reply.id ?? 0)
    if (reply.type === 'success') resolve?.(reply.result ?? {})
    else reject?.(new Error(`${reply.error}: ${reply.message}`))
  })
  socket.addEventListener('close', () => {
    for (const { reject } of pending.values()) reject(new Error('the browser is gone'))
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error(`no connection to ${url}`)))
  })
  return {
    send(method, params = {}) {
      lastId += 1
      const id = lastId
      const result = new Promise<Record<string, unknown>>((resolve, reject) =>
        pending.set(id, { resolve, reject }),
      )
      socket.send(JSON.stringify({ id, method, params }))
      return result
    },
    close: () => socket.close(),
  }
}
