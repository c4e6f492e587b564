import { expect, test } from 'vitest'
import { openPasswords } from './passwords.ts'

test('when the server closes, passwords that wait are refused', async () => {
  const closing = new AbortController()
  const randomBytes = (count: number) => Buffer.alloc(count)
  const passwords = openPasswords({ randomBytes, closing: closing.signal })
  const { signal } = new AbortController()
  const hash = (password: string) => passwords.hash({ password, source: 'ann', signal })
  expect(await hash('first')).toMatch(/^A+\.[\w-]{43}$/)
  const waiting = ['second', 'third'].map(hash)
  closing.abort()
  for (const one of waiting) await expect(one).rejects.toMatchObject({ code: 'shutting_down' })
})
