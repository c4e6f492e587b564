import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { uniqueMail } from '../../../test/kit/store/ledger.ts'
import { type Box, createBox, endBox, listBox } from './mailboxes.ts'
import type { SoakClient, SoakRequest } from './requests.ts'
import type { Senders } from './senders.ts'
import { retryWhileUnavailable, type Tally } from './tally.ts'

// Clients that wait for mail, by a long poll or a stream.

const WAIT_SECONDS = 30
/** How long a stream stays open after it has reported a mail. */
export const STREAM_SECONDS = 20
/** Longer than any upgrade. */
const LIFE_SECONDS = 600

interface Deps {
  client: SoakClient
  request: SoakRequest
  senders: Senders
  tally: Tally
}

export function openWatchers({ client, request, senders, tally }: Deps) {
  async function waitForMail(box: Box): Promise<void> {
    for (;;) {
      const start = performance.now()
      const { messages } = await listBox(request, box, `wait=${WAIT_SECONDS}`)
      if (!messages) throw new Error('a wait did not report its mail')
      if (messages.length > 0) return
      // A node that stops answers its long polls.
      if (performance.now() - start < WAIT_SECONDS * 1_000) tally.retried('wait that ended early')
    }
  }

  async function openStream(token: string, signal: AbortSignal) {
    const opening = client.open('/api/events?since_id=0', { token, signal })
    // Also emitted after the response, when it is aborted.
    opening.on('error', () => {}).end()
    const [response] = (await once(opening, 'response')) as [IncomingMessage]
    return { status: response.statusCode ?? 0, response }
  }

  async function follow(token: string, over: AbortSignal, onData: (data: string) => void) {
    try {
      while (!over.aborted) {
        const open = () => openStream(token, over)
        const { status, response } = await retryWhileUnavailable(tally, 'HTTP', open)
        if (status !== 200) throw new Error(`/api/events: ${status}`)
        for await (const chunk of response) onData(String(chunk))
        tally.retried('stream closed')
      }
    } catch (error) {
      if (!over.aborted) throw error
    }
  }

  return {
    async waits(): Promise<true> {
      const box = await createBox(request, LIFE_SECONDS)
      const start = performance.now()
      await Promise.all([waitForMail(box), senders.send(box.email, () => uniqueMail(1_000))])
      tally.took('wait', performance.now() - start)
      await endBox(request, box)
      return true
    },
    async streams(): Promise<true> {
      const box = await createBox(request, LIFE_SECONDS)
      const start = performance.now()
      const over = new AbortController()
      const endAfter = (seconds: number) => setTimeout(() => over.abort(), seconds * 1_000)
      const givingUp = endAfter(LIFE_SECONDS / 2)
      let data = ''
      let ms: number | undefined
      const following = follow(box.token, over.signal, (more) => {
        data += more
        if (ms !== undefined || !data.includes('event: message')) return
        ms = performance.now() - start
        endAfter(STREAM_SECONDS)
      })
      await Promise.all([following, senders.send(box.email, () => uniqueMail(1_000))])
      clearTimeout(givingUp)
      if (ms === undefined) throw new Error('a stream did not report its mail')
      tally.took('stream', ms)
      await endBox(request, box)
      return true
    },
  }
}
