export type ClientFactory = Awaited<ReturnType<typeof loadClientFactory>>
export type Client = ReturnType<ClientFactory>

const TCP_MS = 1_500
const MAX_QUEUED_COMMANDS = 20_000

/** Loaded only if Redis is configured: it costs a third of a second and 24 MB per thread. */
export async function loadClientFactory(url: string) {
  const { createClient } = await import('redis')
  return () =>
    createClient({
      url,
      socket: { connectTimeout: TCP_MS, reconnectStrategy: false },
      commandsQueueMaxLength: MAX_QUEUED_COMMANDS,
      // Its timeout costs an AbortSignal per command and covers only writing: callers have timeouts of their own.
      commandOptions: { timeout: 0 },
      maintNotifications: 'disabled',
      disableClientInfo: true,
    })
}
