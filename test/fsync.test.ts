import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { freeServicePorts, spawnService } from './kit/app/service-process.ts'
import { createSession } from './kit/http/api-client.ts'
import { copyWithMutations, SYNCHRONOUS_NORMAL } from './kit/mutation.ts'
import { program } from './kit/programs/programs.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { uniqueMail } from './kit/store/ledger.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// The evidence for "250 means on disk": a system call trace of writes, syncs and replies.

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MAILS = 10
const folder = tempFolder(DISK)
afterAll(folder.remove)

test('the commit of every mail is synced between its last byte and its 250', async () => {
  expect(await unsyncedMails(ROOT, 'full')).toStrictEqual({ answered: MAILS, unsynced: 0 })
})

test('unsynced mails are detected when synchronous is NORMAL (control)', async () => {
  const copy = copyWithMutations(`${folder.path}/mutant`, SYNCHRONOUS_NORMAL)
  const { answered, unsynced } = await unsyncedMails(copy, 'normal')
  expect(answered).toBe(MAILS)
  expect(unsynced).toBeGreaterThan(MAILS / 2)
})

/** Sends mails one by one to a service under strace, and counts those acknowledged before they were synced. */
async function unsyncedMails(
  root: string,
  name: string,
): Promise<{ answered: number; unsynced: number }> {
  const trace = `${folder.path}/${name}.trace`
  const calls = 'trace=fdatasync,fsync,pwrite64,write,writev,sendto,sendmsg'
  const served = await spawnService({
    folder: `${folder.path}/${name}`,
    ports: await freeServicePorts(),
    root,
    // -D: the service is our child process, strace a detached grandchild.
    under: [
      program('strace'),
      '-D',
      '-f',
      '--seccomp-bpf',
      '-y',
      '-s',
      '256',
      '-o',
      trace,
      '-e',
      calls,
    ],
  })
  const box = await createSession(served.url)
  const client = await connectSmtp(served.smtpPort)
  for (let sent = 0; sent < MAILS; sent += 1) {
    const { raw } = uniqueMail(3_000)
    expect((await client.send({ to: [box.email], raw })).code).toBe(250)
  }
  client.close()
  await served.kill('SIGTERM')
  // strace writes its last line shortly after the service has exited; it pads short numbers.
  const ended = new RegExp(`^${served.pid} +\\+\\+\\+ exited`, 'm')
  await waitUntil(() => ended.test(readFileSync(trace, 'utf8')))
  return countUnsynced(readFileSync(trace, 'utf8').split('\n'))
}

/** Between the 354 and the 250 the WAL must have been written, and synced after the last write. */
function countUnsynced(lines: readonly string[]): { answered: number; unsynced: number } {
  const found = { answered: 0, unsynced: 0 }
  let inMail = false
  let synced = false
  for (const event of lines.map(eventReader())) {
    if (event === 'data') inMail = true
    // A mail starts unsynced, and each further write of its commit makes it unsynced again.
    if (event === 'data' || event === 'written') synced = false
    if (event === 'synced') synced = true
    if (event !== 'acknowledged' || !inMail) continue
    inMail = false
    found.answered += 1
    if (!synced) found.unsynced += 1
  }
  return found
}

/** A sync that strace prints in two parts counts where it returned, a write where it began. */
function eventReader(): (
  line: string,
) => 'data' | 'written' | 'synced' | 'acknowledged' | undefined {
  const syncing = new Set<string>()
  return (line) => {
    const thread = line.slice(0, line.indexOf(' '))
    // Replies to pipelined commands are sent in one write, the 354 last.
    if (/"(?:250 .*\\n)?354 /.test(line)) return 'data'
    if (line.includes('"250 ')) return 'acknowledged'
    if (/f(data)?sync resumed/.test(line)) return syncing.delete(thread) ? 'synced' : undefined
    if (!line.includes('mail.db-wal>')) return undefined
    if (line.includes('pwrite64(')) return 'written'
    if (!line.includes('<unfinished')) return 'synced'
    syncing.add(thread)
    return undefined
  }
}
