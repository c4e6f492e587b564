import { signal } from '@preact/signals'
import { Refusal } from '../site/ask.ts'
import { tell } from '../site/told.ts'
import { openWords, say } from '../site/words.ts'
import { startCountdown } from './countdown.ts'
import type { Mailbox } from './mailbox.ts'
import { choose, keepMailbox } from './mailboxes.ts'
import { openAddress, untilDone } from './opening.ts'
import { sessions } from './sessions.ts'

/** A mailbox that another device has handed over, and that nobody has agreed to yet. */
export const handed = signal<{ mailbox: Mailbox; decide(agreed: boolean): void } | undefined>(
  undefined,
)

/** What another device opens. The token stands behind the #, which no browser sends to a server. */
export function handOverLink({ token }: Mailbox): string {
  return `${location.origin}/#open=${token}`
}

/** Takes what was handed over, if anything was, and sees to it that there is an address. */
export async function startAddress(): Promise<void> {
  startCountdown()
  addEventListener('hashchange', () => void takeHanded())
  await takeHanded()
  await openAddress()
}

async function takeHanded(): Promise<void> {
  if (!location.hash.startsWith('#open=')) return
  const token = /^#open=([\w-]{1,128})$/.exec(location.hash)?.[1]
  // Gone at once from the address bar, the history and the next screenshot.
  history.replaceState(history.state, '', '/')
  // No answer of the server gives them the time to come.
  if (!token) await openWords()
  await untilDone(async () => {
    const mailbox = token ? await find(token) : undefined
    if (!mailbox) return tell(say('address_handed_over'))
    if (!(await agreed(mailbox))) return
    keepMailbox(mailbox)
    choose(mailbox)
    tell(say('address_told_opened', { email: mailbox.email }))
  })
}

async function find(token: string): Promise<Mailbox | undefined> {
  try {
    return await sessions.look(token)
  } catch (fault) {
    if (fault instanceof Refusal && fault.status === 401) return undefined
    throw fault
  }
}

/** Somebody may have sent the link to have a stranger use a mailbox that both can read. */
function agreed(mailbox: Mailbox): Promise<boolean> {
  // A second link before the first is answered: the first is left alone.
  handed.value?.decide(false)
  return new Promise((resolve) => {
    handed.value = {
      mailbox,
      decide(yes) {
        handed.value = undefined
        resolve(yes)
      },
    }
  })
}
