import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { lineWriter } from './output.ts'

const LOG = JSON.stringify(new URL('./log.ts', import.meta.url).href)

/** What arrives when each write takes so many bytes, or fails; past the list all is taken. */
function arrived(steps: (number | string)[], lines: string[]): string {
  let taken = ''
  const write = lineWriter((bytes) => {
    const step = steps.shift() ?? bytes.length
    if (typeof step === 'string') throw Object.assign(new Error(step), { code: step })
    taken += Buffer.from(bytes.subarray(0, step)).toString('latin1')
    return step
  })
  for (const line of lines) write(line)
  return taken
}

describe('a line arrives', () => {
  for (const [name, steps, expected] of [
    ['in one write', [], 'one\ntwo\n'],
    ['in as many writes as it takes', [1, 2], 'one\ntwo\n'],
    ['once its reader has room', ['EAGAIN', 'EAGAIN'], 'one\ntwo\n'],
    ['after another that was lost', ['ENOSPC'], 'two\n'],
    ['on a line of its own after half of another', [2, 'ENOSPC'], 'on\ntwo\n'],
  ] as const) {
    test(name, () => expect(arrived([...steps], ['one\n', 'two\n'])).toBe(expected))
  }

  test('on a line of its own, also when others were lost since the half one', () => {
    const steps = [2, 'ENOSPC', 'ENOSPC', 1, 'EIO']
    expect(arrived(steps, ['one\n', 'two\n', 'three\n', 'four\n'])).toBe('on\nfour\n')
  })
})

test('a standard output that takes nothing, or is gone, ends no program', () => {
  const program = `
    import { closeSync } from 'node:fs'
    import { openLog } from ${LOG}
    const log = openLog({ level: 'info', thread: 'main' })
    for (let i = 0; i < 3; i++) log.error({ i }, 'full')
    closeSync(1)
    log.error({}, 'closed')
    setImmediate(() => process.stderr.write('alive'))
  `
  const command = '"$0" --input-type=module -e "$1" 2>&1 >/dev/full'
  const said = execFileSync('sh', ['-c', command, process.execPath, program], { encoding: 'utf8' })
  expect(said).toBe('alive')
})
