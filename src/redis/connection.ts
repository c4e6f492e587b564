import { backoffDelay, withJitter } from '../base/time.ts'
import type { Client, ClientFactory } from './client-options.ts'

interface ConnectionOptions {
  makeClient: ClientFactory
  /**
   * To connect, and between two pings. A ping not answered by the time of the next one closes the connection: a server that
   * hangs keeps its connections open.
   */
  timeoutMs: number
  up(client: Client): void
  /** Also called after a failed attempt. */
  down(error: Error): void
}

const RETRY = { first: 50, max: 1_000 }

/** A connection that is always reopened. */
export function openConnection({ makeClient, timeoutMs, ...events }: ConnectionOptions) {
  const tried = Promise.withResolvers<void>()
  let current: Client | undefined
  let failures = 0
  let drop: ((error: Error) => void) | undefined
  let close = () => {}

  function open(): void {
    const client = makeClient()
    const running = runClient(client, timeoutMs, {
      up() {
        current = client
        events.up(client)
        tried.resolve()
      },
      healthy() {
        failures = 0
      },
      down(error) {
        current = undefined
        failures += 1
        const again = setTimeout(open, withJitter(backoffDelay(failures, RETRY), Math.random()))
        close = () => clearTimeout(again)
        events.down(error)
        tried.resolve()
      },
    })
    drop = running.fail
    close = running.end
  }

  open()
  return {
    /** Undefined while disconnected. */
    client: () => current,
    /** Resolves after the first attempt, successful or not. */
    tried: tried.promise,
    /** Replaces the current connection with a new one. */
    drop: (error: Error) => drop?.(error),
    close() {
      current = undefined
      close()
      tried.resolve()
    },
  }
}

interface ClientEvents {
  up(): void
  healthy(): void
  down(error: Error): void
}

/**
 * Runs one client until its first error: node-redis keeps a connection with a reply that it cannot decode, and later replies
 * could then be those of other commands. `end` ends it without calling `down`.
 */
function runClient(client: Client, timeoutMs: number, { up, healthy, down }: ClientEvents) {
  let ended = false
  let isPinging = false
  let pinging: NodeJS.Timeout | undefined
  const deadline = setTimeout(() => fail(new Error('no response')), timeoutMs)

  function end(): void {
    ended = true
    clearTimeout(deadline)
    clearInterval(pinging)
    client.destroy()
  }
  function fail(error: Error): void {
    if (ended) return
    end()
    down(error)
  }
  function ping(): void {
    if (isPinging) {
      fail(new Error('no response to ping'))
      return
    }
    isPinging = true
    client.ping().then(() => {
      isPinging = false
      healthy()
    }, fail)
  }
  function connected(): void {
    // Ended while connecting: the client would otherwise stay connected.
    if (ended) {
      client.destroy()
      return
    }
    clearTimeout(deadline)
    pinging = setInterval(ping, timeoutMs)
    up()
  }

  client.on('error', fail)
  client.connect().then(connected, fail)
  return { end, fail }
}
