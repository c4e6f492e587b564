import { scrypt, timingSafeEqual } from 'node:crypto'
import { openScheduler, timed } from '../../base/fair-scheduler.ts'

interface Hashing {
  password: string
  /** The client, for a fair share of the queue. */
  source: string
  signal: AbortSignal
}

interface PasswordDeps {
  randomBytes(count: number): Uint8Array
  /** Aborted when the server closes: what waits is refused. */
  closing: AbortSignal
}

/** Hashes one password at a time in each thread: each takes 16 MB and about 50 ms of a core. */
export function openPasswords({ randomBytes, closing }: PasswordDeps) {
  const queue = openScheduler({
    ...{ slots: 1, maxWaiting: 400, maxWaitingPerKey: 200 },
    overloadMessage: 'Too many passwords are waiting to be checked. Try again in a moment.',
  })
  closing.addEventListener('abort', () => queue.close())
  const derive = ({ password, source, signal }: Hashing, salt: Buffer) =>
    queue.run(Symbol('password'), { owner: [source], signal }, () =>
      timed(() => scryptHash(password, salt)),
    )

  return {
    /** Salt and hash, to be stored. Rejects with `overloaded` if too many wait. */
    async hash(request: Hashing): Promise<string> {
      const salt = Buffer.from(randomBytes(SALT_BYTES))
      const hash = await derive(request, salt)
      return `${salt.toString('base64url')}.${hash.toString('base64url')}`
    },

    /** Without a stored password it takes as long, and is wrong: nobody learns which accounts exist. */
    async isRight(request: Hashing, stored: string | undefined): Promise<boolean> {
      const [salt = '', hash = ''] = stored?.split('.') ?? []
      const derived = await derive(request, Buffer.from(salt, 'base64url'))
      const expected = Buffer.from(hash, 'base64url')
      return expected.length === derived.length && timingSafeEqual(expected, derived)
    },
  }
}

export type Passwords = ReturnType<typeof openPasswords>

const SALT_BYTES = 16
const HASH_BYTES = 32

// Normalizing takes the square of the number of combining marks, in this thread.
const MAX_NORMALIZED = 1_000

/** In a thread of libuv. */
function scryptHash(password: string, salt: Buffer): Promise<Buffer> {
  const text = password.length > MAX_NORMALIZED ? password : password.normalize()
  return new Promise((resolve, reject) => {
    scrypt(text, salt, HASH_BYTES, (error, hash) => (error ? reject(error) : resolve(hash)))
  })
}
