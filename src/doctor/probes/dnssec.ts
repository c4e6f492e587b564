import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { hasErrorCode, isProgrammingError } from '../../base/problem.ts'

// The resolver of Node.js cannot ask for signatures: this is one query and the part of its answer that tells (RFC 6891, RFC 4035).

const TLSA = 52
const OPT = 41
const RRSIG = 46
const HEADER_BYTES = 12
const DO_BIT = 0x8000
const AD_BIT = 0x20
const TIMEOUT_MS = 2_000

/**
 * Whether the TLSA records of a name come with signatures. Undefined without an answer that tells: some resolvers do not pass
 * signatures on. `server` as in `getServers()` of a resolver.
 */
export async function isTlsaSigned(server: string, name: string): Promise<boolean | undefined> {
  const { address, port } = parseServer(server)
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  try {
    const id = randomBytes(2)
    socket.connect(port, address)
    await once(socket, 'connect')
    socket.send(query(id, name))
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const [answer]: Buffer[] = await once(socket, 'message', { signal })
    return answer?.subarray(0, 2).equals(id) ? readSigned(answer) : undefined
  } catch (error) {
    // A name or a record that ends outside the answer.
    const isMalformed = hasErrorCode(error, 'ERR_OUT_OF_RANGE', 'ERR_BUFFER_OUT_OF_BOUNDS')
    if (isProgrammingError(error) && !isMalformed) throw error
    return undefined
  } finally {
    socket.close()
  }
}

function parseServer(server: string): { address: string; port: number } {
  const [, six, four, port = '53'] = /^(?:\[([^\]]+)\]|(\d[\d.]*))(?::(\d+))?$/.exec(server) ?? []
  return { address: six ?? four ?? server, port: Number(port) }
}

function query(id: Buffer, name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '')
  const question = labels.flatMap((label) => [label.length, ...Buffer.from(label, 'latin1')])
  // Recursion desired, AD understood; one question, one additional record: OPT with 1,232 bytes and DO.
  const head = [0x01, AD_BIT, 0, 1, 0, 0, 0, 0, 0, 1]
  const opt = [0, 0, OPT, 0x04, 0xd0, 0, 0, DO_BIT >> 8, 0, 0, 0]
  return Buffer.concat([id, Buffer.from([...head, ...question, 0, 0, TLSA, 0, 1, ...opt])])
}

function readSigned(answer: Buffer): boolean | undefined {
  const isSuccess = (answer.readUInt16BE(2) & 0x020f) === 0
  const counts = [6, 8, 10].map((at) => answer.readUInt16BE(at))
  let at = skipName(answer, HEADER_BYTES) + 4
  let passesSignatures = false
  for (let left = counts.reduce((sum, count) => sum + count, 0); left > 0; left -= 1) {
    at = skipName(answer, at)
    const type = answer.readUInt16BE(at)
    if (type === RRSIG) return true
    if (type === OPT) passesSignatures = (answer.readUInt32BE(at + 4) & DO_BIT) !== 0
    at += 10 + answer.readUInt16BE(at + 8)
  }
  if (((answer[3] ?? 0) & AD_BIT) !== 0) return true
  return isSuccess && passesSignatures ? false : undefined
}

/** The position after a name: labels up to the root, or up to a pointer. */
function skipName(bytes: Buffer, start: number): number {
  let at = start
  for (;;) {
    const size = bytes.readUInt8(at)
    if (size === 0) return at + 1
    if (size >= 0xc0) return at + 2
    at += 1 + size
  }
}
