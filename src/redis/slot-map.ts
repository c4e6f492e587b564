import { type RedisServer, serverAt } from './client-options.ts'

/** An entry of CLUSTER SLOTS. */
interface SlotRange {
  from: number
  to: number
  master: { host: string | null; port: number }
}

export type SlotMap = ReturnType<typeof openSlotMap>

const SLOTS = 16_384

/** Which server owns which key: the first one owns all, unless a Redis Cluster says otherwise. */
export function openSlotMap(roots: readonly [RedisServer, ...RedisServer[]]) {
  let bySlot: (RedisServer | undefined)[] = []

  return {
    clustered: (): boolean => roots.length > 1 || bySlot.length > 0,
    of: (key: string): RedisServer => bySlot[slotOf(key)] ?? roots[0],
    servers(): RedisServer[] {
      const known = [...roots, ...bySlot.filter((server) => server !== undefined)]
      return [...new Map(known.map((server) => [server.name, server])).values()]
    },
    /** `asked` sent the reply: a server that does not know its own host name omits it. */
    learn(ranges: readonly SlotRange[], asked: RedisServer): void {
      bySlot = []
      for (const { from, to, master } of ranges) {
        const server = serverAt(master.host || asked.host, master.port)
        for (let slot = from; slot <= to; slot += 1) bySlot[slot] = server
      }
    },
    /** True if the error is a MOVED reply; its target is then stored. */
    follow(error: unknown, asked: RedisServer): boolean {
      const [, slot, host, port] =
        /^MOVED (\d+) (.*):(\d+)$/.exec(error instanceof Error ? error.message : '') ?? []
      if (!port) return false
      bySlot[Number(slot)] = serverAt(host || asked.host, Number(port))
      return true
    },
  }
}

/** Only the text in braces counts, if there is any. */
function slotOf(key: string): number {
  const [, tag = key] = /^[^{]*\{([^}]+)\}/.exec(key) ?? []
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc % SLOTS
}
