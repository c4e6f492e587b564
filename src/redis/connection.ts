import type { Client, ClientFactory, RedisServer } from './client.ts'

export interface RedisConnection {
  /** The connection while it is there; undefined while it is away. */
  client(): Client | undefined
  /** Resolves when the first attempt has ended, in whichever way. */
  tried: Promise<void>
  /** Gives the connection up that is there, for a new one. */
  drop(fault: Error): void
  close(): void
}

interface LineEvents {
  up(client: Client): void
  /** Also after an attempt that failed. */
  down(fault: Error): void
}

const CONNECT_MS = 2_000
// Unanswered until the next one, the connection is given up: a server that hangs keeps its connections open.
const PING_MS = 2_000
const MAX_PAUSE_MS = 1_000

/** A connection that is made again for ever. */
export function openConnection(
  server: RedisServer,
  makeClient: ClientFactory,
  events: LineEvents,
): RedisConnection {
  const tried = Promise.withResolvers<void>()
  let there: Client | undefined
  let attempts = 0
  let drop: ((fault: Error) => void) | undefined
  let close = () => {}

  function open(): void {
    const client = makeClient(server)
    const life = live(client, {
      up() {
        there = client
        events.up(client)
        tried.resolve()
      },
      well() {
        attempts = 0
      },
      down(fault) {
        there = undefined
        const again = setTimeout(open, pauseMs(attempts))
        attempts += 1
        close = () => clearTimeout(again)
        events.down(fault)
        tried.resolve()
      },
    })
    drop = life.fail
    close = life.end
  }

  open()
  return {
    client: () => there,
    tried: tried.promise,
    drop: (fault) => drop?.(fault),
    close() {
      there = undefined
      close()
      tried.resolve()
    },
  }
}

interface Life {
  up(): void
  well(): void
  down(fault: Error): void
}

/**
 * The life of one client, which its first fault ends: nothing it says later is trusted. In node-redis 6 a push that comes
 * at the wrong moment can shift answers by one, and a fault always follows. `end` ends it without a word.
 */
function live(client: Client, { up, well, down }: Life) {
  let over = false
  let waiting = false
  let pinging: NodeJS.Timeout | undefined
  const deadline = setTimeout(() => fail(new Error('it does not answer')), CONNECT_MS)

  function end(): void {
    over = true
    clearTimeout(deadline)
    clearInterval(pinging)
    client.destroy()
  }
  function fail(fault: Error): void {
    if (over) return
    end()
    down(fault)
  }
  function ping(): void {
    if (waiting) {
      fail(new Error('it does not answer any more'))
      return
    }
    waiting = true
    client.ping().then(() => {
      waiting = false
      well()
    }, fail)
  }
  function connected(): void {
    // Ended while it was connecting: a client then still comes up, and would stay.
    if (over) {
      client.destroy()
      return
    }
    clearTimeout(deadline)
    pinging = setInterval(ping, PING_MS)
    up()
  }

  client.on('error', fail)
  client.connect().then(connected, fail)
  return { end, fail }
}

function pauseMs(attempts: number): number {
  return Math.min(50 * 2 ** attempts, MAX_PAUSE_MS) * (0.5 + Math.random() / 2)
}
