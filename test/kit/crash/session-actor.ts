import { connectSmtp } from '../smtp/smtp-client.ts'
import { waitUntil } from '../wait-until.ts'
import { type Actor, call, form, type Round, repeatUntilStopped, type Target } from './actor.ts'

// The shortest life that a session can have.
const SHORT_SECONDS = 60
const DAY_SECONDS = 86_400
const HOUR_SECONDS = 3_600
// Extensions end before the longest life of a session, seven days.
const MAX_EXTENSIONS = 140
// expires_at has whole seconds.
const ROUNDING_MS = 1_000
// A minute, a pause of the sweep, and what a restart takes.
const MAX_SWEEP_LAG_SECONDS = 90

interface Session {
  token: string
  email: string
  expiresAt: number
}

/** Sessions that are extended by an hour more each time, and sessions that expire or are ended during the batch, and are swept. */
export function sessionActor(): Actor {
  const short: Session[] = []
  /** By round and token: the number of extensions requested, and the latest expiry answered with 200. */
  const rounds: Map<string, { requests: number; expiresAt: number }>[] = []
  const faults: string[] = []
  let extensions = 0
  const over = new Set<string>()

  async function createShort({ url, smtpPort }: Target, isEnded: boolean): Promise<void> {
    const response = await call(`${url}/api/create-session`, form({ ttl: String(SHORT_SECONDS) }))
    if (response?.status !== 200) return
    const { token, email, expires_at_iso } = response.body as Record<string, string>
    if (!token || !email) return
    // So that there is something to delete when it expires.
    const client = await connectSmtp(smtpPort).catch(() => undefined)
    await client?.send({ to: [email], raw: `Subject: ${subjectFor(email)}\r\n\r\n` })
    client?.close()
    if (!isEnded)
      return void short.push({ token, email, expiresAt: Date.parse(expires_at_iso ?? '') })
    const ended = await call(`${url}/api/delete-session`, form({ token }))
    if (ended?.status === 200) short.push({ token, email, expiresAt: Date.now() })
  }

  async function extend({ url }: Target, token: string, { isOutage }: Round): Promise<void> {
    const known = rounds.at(-1)?.get(token) ?? { requests: 0, expiresAt: 0 }
    rounds.at(-1)?.set(token, known)
    if (known.requests === MAX_EXTENSIONS) return
    known.requests += 1
    const ttl = String(DAY_SECONDS + known.requests * HOUR_SECONDS)
    const response = await call(`${url}/api/extend-session`, form({ token, ttl }))
    if (response?.status === 200) {
      known.expiresAt = Date.parse(String(response.body['expires_at_iso']))
      extensions += 1
    } else if (response && !isOutage(response.status)) {
      faults.push(`extend-session: ${response.status}`)
    }
  }

  return {
    async run(target, round) {
      const { boxes, stopped } = round
      rounds.push(new Map())
      for (const isEnded of [false, true]) await createShort(target, isEnded)
      await repeatUntilStopped({ stopped }, 40, async () => {
        const box = boxes[Math.floor(Math.random() * boxes.length)]
        if (box) await extend(target, box.token, round)
      })
    },
    async faults({ url }, all) {
      const checkExtended = async ([token, { expiresAt }]: [string, { expiresAt: number }]) =>
        extensionFault(expiresAt, String((await read(url, token)).body['expires_at_iso']))
      const checkShort = async ({ token, email, expiresAt }: Session) => {
        const before = Date.now()
        const { status, body } = await read(url, token)
        if (status === 401) over.add(token)
        const fault = expiryFault(expiresAt, { status, before, after: Date.now() })
        return fault ?? strayFault(email, (body['messages'] ?? []) as { subject: string }[])
      }
      const found = await Promise.all([
        ...rounds.slice(all ? 0 : -1).flatMap((extended) => [...extended].map(checkExtended)),
        ...(all ? short : short.slice(-2)).map(checkShort),
      ])
      return [...faults.splice(0), ...found.filter((fault) => fault !== undefined)]
    },
    async drain({ url }) {
      let metrics = ''
      const isSwept = async () => {
        metrics = await (await fetch(`${url}/metrics`)).text()
        return sweepFaults(metrics).length === 0
      }
      await waitUntil(isSwept).catch(() => 'reported below')
      return sweepFaults(metrics)
    },
    counts: () => ({ extensions, 'expired and ended sessions': over.size }),
    secrets: () => short.flatMap(({ token, email }) => [token, email]),
  }
}

/** What is wrong with the expiry of a session that was extended to the first of these times. */
export function extensionFault(promised: number, actual: string): string | undefined {
  return Date.parse(actual) >= promised
    ? undefined
    : `a session extended to ${at(promised)} now expires at ${actual}`
}

const subjectFor = (email: string) => `short-lived ${email}`

/** Whether a session lists mail that was sent to another one. */
export function strayFault(
  email: string,
  messages: readonly { subject: string }[],
): string | undefined {
  const stray = messages.find(({ subject }) => subject !== subjectFor(email))
  return stray && `"${stray.subject}" is in a session that it was not sent to`
}

export function sweepFaults(metrics: string): string[] {
  const lag = Number(/^mayfly_sweep_lag_seconds (\S+)$/m.exec(metrics)?.[1])
  return lag < MAX_SWEEP_LAG_SECONDS ? [] : [`expired sessions wait ${lag} s for the sweep`]
}

/** What is wrong with the status of a session that was requested and answered at these times. */
export function expiryFault(
  expiresAt: number,
  { status, before, after }: { status: number; before: number; after: number },
): string | undefined {
  if (status === 401 && after < expiresAt - ROUNDING_MS)
    return `a session is gone before it expires at ${at(expiresAt)}`
  if (status !== 401 && before > expiresAt + ROUNDING_MS)
    return `a session that expired at ${at(expiresAt)} answers ${status}`
  return status === 200 || status === 401 ? undefined : `a session answers ${status}`
}

async function read(url: string, token: string) {
  const response = await call(`${url}/api/check-mail?token=${token}`)
  return response ?? { status: 0, body: {} as Record<string, unknown> }
}

const at = (ms: number) => new Date(ms).toISOString()
