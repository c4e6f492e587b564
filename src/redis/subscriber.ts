import type { Client, ClientFactory } from './client-options.ts'
import { openConnections } from './connection.ts'
import type { Outages } from './outages.ts'
import type { SlotMap } from './slot-map.ts'

export interface ChannelListener {
  message(message: string): void
  /** From now on no message is missed. */
  subscribed(): void
  /** From now on messages may be missed, until it is subscribed again. */
  unsubscribed(): void
}

interface Subscription {
  listener: ChannelListener
  /** Where it was requested. */
  client: Client | undefined
  confirmed: boolean
}

interface Deps {
  makeClient: ClientFactory
  timeoutMs: number
  slotMap: SlotMap
  outages: Outages
  /** A connection was lost: the slots may have moved. */
  refreshSoon(): void
}

const RETRY_MS = 200

/**
 * Sharded channels, each subscribed at the owner of its slot. The one rule is `reconcile`: a channel that was not requested on
 * the owner's current connection is requested there. Every event ends in that.
 */
export function openSubscriber({ makeClient, timeoutMs, slotMap, outages, refreshSoon }: Deps) {
  const subscriptions = new Map<string, Subscription>()
  let retry: NodeJS.Timeout | undefined
  const connections = openConnections({
    makeClient,
    timeoutMs,
    outages,
    up(client) {
      // The server sends this when a channel's slot moves.
      client.on('sharded-channel-moved', (channel: string) => dropRequest(channel, client))
      reconcile()
    },
    down() {
      reconcile()
      refreshSoon()
    },
  })

  function reconcile(): void {
    for (const [channel, subscription] of subscriptions) request(channel, subscription)
  }

  function request(channel: string, subscription: Subscription): void {
    const owner = slotMap.of(channel)
    const client = connections.to(owner)
    if (subscription.client === client) return
    release(channel, subscription)
    subscription.client = client
    client?.sSubscribe(channel, subscription.listener.message).then(
      () => {
        if (subscription.client !== client) return
        subscription.confirmed = true
        subscription.listener.subscribed()
      },
      (error: unknown) => {
        if (!slotMap.follow(error, owner)) outages.rejected(owner, error)
        dropRequest(channel, client)
      },
    )
  }

  function dropRequest(channel: string, client: Client): void {
    const subscription = subscriptions.get(channel)
    if (subscription?.client !== client) return
    subscription.client = undefined
    release(channel, subscription)
    retry ??= setTimeout(() => {
      retry = undefined
      reconcile()
    }, RETRY_MS)
  }

  return {
    reconcile,
    keep: connections.keep,
    listen(channel: string, listener: ChannelListener): () => void {
      const subscription: Subscription = { listener, client: undefined, confirmed: false }
      subscriptions.set(channel, subscription)
      request(channel, subscription)
      return () => {
        if (subscriptions.get(channel) === subscription) subscriptions.delete(channel)
        subscription.confirmed = false
        release(channel, subscription)
      }
    },
    close(): void {
      clearTimeout(retry)
      subscriptions.clear()
      connections.close()
    },
  }
}

function release(channel: string, subscription: Subscription): void {
  // A lost connection has no subscriptions any more.
  subscription.client?.sUnsubscribe(channel, subscription.listener.message).catch(() => {})
  subscription.client = undefined
  if (subscription.confirmed) subscription.listener.unsubscribed()
  subscription.confirmed = false
}
