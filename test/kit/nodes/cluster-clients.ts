import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { NOW } from '../../../src/store/postgres/mail/leases.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'
import type { Cluster } from './cluster.ts'
import { NODES } from './cluster-config.ts'
import type { History } from './history.ts'

const SMTP_TIMEOUT_MS = 25_000

/** The code of the final reply; 0 if there is none in time. */
export async function sendOnce(
  { host, port }: { host: string; port: number },
  to: string,
  raw: Buffer,
): Promise<number> {
  const connecting = connectSmtp(port, host)
  const timeout = new AbortController()
  const late = pause(SMTP_TIMEOUT_MS, 0, { signal: timeout.signal }).catch(() => 0)
  const sending = connecting.then(async (client) => (await client.send({ to: [to], raw })).code)
  try {
    return await Promise.race([sending.catch(() => 0), late])
  } finally {
    timeout.abort()
    connecting.then((client) => client.close()).catch(() => {})
  }
}

/** Who has which lease, as PostgreSQL says. */
export async function watchLeases(cluster: Cluster, { now, record }: History): Promise<void> {
  const start = now()
  const held = `select name, holder from mail.lease where ends_at > ${NOW}`
  const rows = await cluster.query(held).catch(() => [])
  for (const { name, holder } of rows as { name: string; holder: string }[]) {
    const seen = { client: 'watcher', node: 'postgres', start, end: now(), result: 'done' } as const
    record({ ...seen, kind: 'lease', name, holder })
  }
}

// A delivery of ten fails, and is repeated.
const FAILING = 0.1

/** The receiver of a webhook, which records what it gets and from whom. */
export async function openRecorder(
  cluster: Cluster,
  { now, record }: History,
  random: () => number,
) {
  let deliveries = 0
  const server = createServer(async (incoming, response) => {
    const start = now()
    const ip = incoming.socket.remoteAddress
    const node = NODES.find((name) => cluster.machines[name].address === ip) ?? String(ip)
    const body = await text(incoming).catch(() => '')
    // A node that died while it sent.
    if (!incoming.complete) {
      response.destroy()
      return
    }
    const { data } = JSON.parse(body) as { data: { id: number; subject: string } }
    const isFailing = random() < FAILING
    await pause(20)
    response.writeHead(isFailing ? 500 : 200).end()
    const result = isFailing ? 'refused' : 'done'
    const common = { client: 'receiver', node, start, end: now(), result } as const
    const { id, subject: mail } = data
    const webhook = incoming.url?.slice(1) ?? ''
    record({ ...common, kind: 'delivery', webhook, id, mail })
    // One node at a time delivers.
    deliveries += 1
    const holder = `delivery ${deliveries} of ${node}`
    record({ ...common, kind: 'lease', name: `deliveries to ${webhook}`, holder })
  })
  server.listen(0, cluster.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${cluster.host}:${port}`,
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}
