import { createSocket } from 'node:dgram'

/** Records by `TYPE name`: texts, addresses, names, the primary server for SOA, `10 host` for MX; or an error. */
export type Zone = Record<string, readonly string[] | 'SERVFAIL' | 'REFUSED' | 'silence'>

const TYPES: Record<string, number> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
}
const CODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 }

/** A name server on loopback that serves the zone and records the queries. An alias is followed if the name has no such record. */
export async function openDnsServer(zone: Zone, host = '127.0.0.1') {
  const asked: string[] = []
  const ids = new Set<string>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    const key = `${type} ${name}`
    // A client that waits too long, as on a machine that stalls, sends its query again.
    const id = `${query.readUInt16BE(0)} ${key}`
    if (!ids.has(id)) asked.push(key)
    ids.add(id)
    const [alias = ''] = zone[key] ? [] : (zone[`CNAME ${name}`] ?? [])
    const found = zone[key] ?? zone[`${type} ${alias}`]
    if (found === 'silence') return
    const reply = typeof found === 'string' ? CODES[found] : found ? 0 : missing(zone, name)
    const records = Array.isArray(found) ? found : []
    const response = responseBytes(query.subarray(0, end), { type, reply, records, alias })
    socket.send(response, port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, host, resolve))

  return {
    server: `${host}:${socket.address().port}`,
    asked,
    zone,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}

function missing(zone: Zone, name: string): number {
  return Object.keys(zone).some((key) => key.endsWith(` ${name}`)) ? 0 : CODES.NXDOMAIN
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size))
    at += 1 + size
  }
  const number = query.readUInt16BE(at + 1)
  const type = Object.keys(TYPES).find((one) => TYPES[one] === number) ?? String(number)
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 }
}

interface Reply {
  type: string
  reply: number
  records: readonly string[]
  /** The name that has the records instead, or empty. */
  alias: string
}

// A pointer to the name of the question, at byte 12 of the packet.
const ASKED = Buffer.from([0xc0, 0x0c])

function responseBytes(question: Buffer, { type, reply, records, alias }: Reply): Buffer {
  const isAlias = alias !== ''
  const head = Buffer.from(question)
  head.writeUInt16BE(0x8580 | reply, 2)
  head.writeUInt16BE(records.length + Number(isAlias), 6)
  head.writeUInt16BE(0, 8)
  head.writeUInt16BE(0, 10)
  const owner = isAlias ? nameBytes(alias) : ASKED
  return Buffer.concat([
    head,
    ...(isAlias ? [recordBytes(ASKED, 'CNAME', alias)] : []),
    ...records.map((record) => recordBytes(owner, type, record)),
  ])
}

function recordBytes(owner: Buffer, type: string, record: string): Buffer {
  const content = contentBytes(type, record)
  const head = Buffer.alloc(10)
  head.writeUInt16BE(TYPES[type] ?? 0, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(60, 4)
  head.writeUInt16BE(content.length, 8)
  return Buffer.concat([owner, head, content])
}

function contentBytes(type: string, record: string): Buffer {
  if (type === 'A') return Buffer.from(record.split('.').map(Number))
  if (type === 'AAAA') return v6Bytes(record)
  if (type === 'TXT') {
    return Buffer.concat((record.match(/.{1,255}/gs) ?? ['']).map((part) => counted(part)))
  }
  if (type === 'SOA') return Buffer.concat([nameBytes(record), nameBytes(record), Buffer.alloc(20)])
  if (type !== 'MX') return nameBytes(record)
  const [preference = '0', host = ''] = record.split(' ')
  return Buffer.concat([Buffer.from([0, Number(preference)]), nameBytes(host)])
}

function v6Bytes(address: string): Buffer {
  const [before = '', after = ''] = address.split('::')
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const [front, back] = [groups(before), groups(after)]
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0')
  const all = [...front, ...zeros, ...back].map((group) => group.padStart(4, '0'))
  return Buffer.from(all.join(''), 'hex')
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '')
  return Buffer.concat([...labels.map(counted), Buffer.from([0])])
}

function counted(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')])
}
