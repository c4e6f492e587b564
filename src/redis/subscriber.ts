import type { Client, ClientFactory } from './client.ts'
import { openConnections } from './connections.ts'
import type { Outages } from './outages.ts'
import type { SlotMap } from './slot-map.ts'

export interface ChannelListener {
  message(message: string): void
  /** From now on nothing is missed. */
  subscribed(): void
  /** From now on anything may be missed, until it is ready again. */
  unsubscribed(): void
}

interface Subscription {
  listener: ChannelListener
  /** Where it was asked for. */
  client: Client | undefined
  confirmed: boolean
}

interface Deps {
  makeClient: ClientFactory
  places: SlotMap
  outages: Outages
  /** A server went away: what it had may be elsewhere by now. */
  lookAround(): void
}

const AGAIN_MS = 200

/**
 * Sharded channels, each heard where it is at home. The one rule is `settle`: a channel that was not asked for at the
 * connection that its home has now is asked for there. Whatever happens ends in that.
 */
export function openSubscriber({ makeClient, places, outages, lookAround }: Deps) {
  const wishes = new Map<string, Subscription>()
  const soon = onceIn(AGAIN_MS, settle)
  const lines = openConnections({
    makeClient,
    outages,
    up(client) {
      // The server says so when a channel's slot goes elsewhere.
      client.on('sharded-channel-moved', (channel: string) => refused(channel, client))
      settle()
    },
    down() {
      settle()
      lookAround()
    },
  })

  function settle(): void {
    for (const [channel, wish] of wishes) ask(channel, wish)
  }

  function ask(channel: string, wish: Subscription): void {
    const home = places.of(channel)
    const client = lines.to(home)
    if (wish.client === client) return
    leave(channel, wish)
    wish.client = client
    client?.sSubscribe(channel, wish.listener.message).then(
      () => {
        if (wish.client !== client) return
        wish.confirmed = true
        wish.listener.subscribed()
      },
      (fault: unknown) => {
        if (!places.follow(fault, home)) outages.refuse(home, fault)
        refused(channel, client)
      },
    )
  }

  function refused(channel: string, client: Client): void {
    const wish = wishes.get(channel)
    if (wish?.client !== client) return
    wish.client = undefined
    leave(channel, wish)
    soon.start()
  }

  return {
    settle,
    keep: lines.keep,
    listen(channel: string, listener: ChannelListener): () => void {
      const wish: Subscription = { listener, client: undefined, confirmed: false }
      wishes.set(channel, wish)
      ask(channel, wish)
      return () => {
        if (wishes.get(channel) === wish) wishes.delete(channel)
        wish.confirmed = false
        leave(channel, wish)
      }
    },
    close(): void {
      soon.cancel()
      wishes.clear()
      lines.close()
    },
  }
}

function leave(channel: string, wish: Subscription): void {
  // A connection that is gone has forgotten it already.
  wish.client?.sUnsubscribe(channel, wish.listener.message).catch(() => {})
  wish.client = undefined
  if (wish.confirmed) wish.listener.unsubscribed()
  wish.confirmed = false
}

function onceIn(ms: number, act: () => void) {
  let timer: NodeJS.Timeout | undefined
  return {
    start(): void {
      timer ??= setTimeout(() => {
        timer = undefined
        act()
      }, ms)
    },
    cancel: () => clearTimeout(timer),
  }
}
