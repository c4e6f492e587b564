import type { RedisServer } from './client.ts'

/** As CLUSTER SLOTS tells them. */
interface SlotRange {
  from: number
  to: number
  master: { host: string | null; port: number }
}

export type SlotMap = ReturnType<typeof openSlotMap>

const SLOTS = 16_384

/** Which server has which key: the first one has all, until a Redis Cluster says otherwise. */
export function openSlotMap(roots: readonly [RedisServer, ...RedisServer[]]) {
  let bySlot: (RedisServer | undefined)[] = []

  return {
    clustered: (): boolean => roots.length > 1 || bySlot.length > 0,
    of: (key: string): RedisServer => bySlot[slotOf(key)] ?? roots[0],
    servers(): RedisServer[] {
      const known = [...roots, ...bySlot.filter((server) => server !== undefined)]
      return [...new Map(known.map((server) => [server.name, server])).values()]
    },
    /** `asked` is who told so: a server that does not know its own name leaves it out. */
    learn(ranges: readonly SlotRange[], asked: RedisServer): void {
      bySlot = []
      for (const { from, to, master } of ranges) {
        const server = serverAt(master.host || asked.host, master.port)
        for (let slot = from; slot <= to; slot += 1) bySlot[slot] = server
      }
    },
    /** True when the refusal names the server to ask instead, which is then remembered. */
    follow(fault: unknown, asked: RedisServer): boolean {
      const [, slot, host, port] =
        /^MOVED (\d+) (.*):(\d+)$/.exec(fault instanceof Error ? fault.message : '') ?? []
      if (!port) return false
      bySlot[Number(slot)] = serverAt(host || asked.host, Number(port))
      return true
    },
  }
}

export function serverAt(host: string, port: number): RedisServer {
  return { name: `${host}:${port}`, host, port }
}

/** Only what stands in braces counts, if anything does. */
function slotOf(key: string): number {
  const [, tag = key] = /^[^{]*\{([^}]+)\}/.exec(key) ?? []
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc % SLOTS
}
