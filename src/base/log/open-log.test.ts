import { execFileSync } from 'node:child_process'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { type LogFacts, verbatim } from './log.ts'
import { isJournal, type LogOptions, lineWriter, openLog } from './open-log.ts'

function logged(
  { pretty = false as boolean | 'colours', level = 'debug' as LogOptions['level'] },
  write: (log: ReturnType<typeof openLog>) => void,
): string[] {
  const lines: string[] = []
  write(openLog({ level, thread: 'smtp' }, { pretty, write: (line) => lines.push(line) }))
  return lines
}

function jsonOf(facts: LogFacts, sentence = 'something'): Record<string, unknown> {
  const [line = ''] = logged({}, (log) => log.info(facts, sentence))
  return JSON.parse(line)
}

test('a line has time, level, thread, message and facts', () => {
  const { time, ...rest } = jsonOf({ bytes: 4096, tls: true, none: undefined }, 'mail kept')
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(rest).toEqual({ level: 'info', thread: 'smtp', msg: 'mail kept', bytes: 4096, tls: true })
})

test('messages below the level are not logged', () => {
  const lines = logged({ level: 'warn' }, (log) => {
    log.debug({}, 'a')
    log.info({}, 'b')
    log.warn({}, 'c')
    log.error({}, 'd')
  })
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['c', 'd'])
})

describe('untrusted input: an event is one line without control characters', () => {
  const untrusted = [
    ['CR and LF', 'mx\r\n{"level":"error","msg":"forged"}'],
    ['ESC', '\u001b[2J\u001b]0;owned\u0007'],
    ['C1 controls', '\u009b31m\u0085next'],
    ['Unicode line ends', 'a\u2028b\u2029c'],
    ['bidirectional control characters', 'exe.\u202egpj\u2066\u200f'],
    ['NUL, DEL and a byte order mark', '\u0000\u007f\ufeff'],
    ['a lone surrogate', 'a\ud800b'],
    ['quotes and backslashes', '"},{"\\u000a'],
    ['format specifiers', '%s %d %o %j %%'],
  ] as const
  for (const pretty of [false, 'colours'] as const) {
    for (const [name, text] of untrusted) {
      test(`${name}, ${pretty ? 'pretty' : 'JSON'}`, () => {
        const err = new Error(text)
        const [line = '', ...more] = logged({ pretty }, (log) => log.warn({ text, err }, text))
        expect(more).toEqual([])
        expect(line.endsWith('\n')).toBe(true)
        const body = line.slice(0, -1).replace('\u001b[33mwarn \u001b[0m', '')
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
        expect(body).not.toMatch(/[\0-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/)
        if (!pretty) expect(JSON.parse(line)).toMatchObject({ text, msg: text })
      })
    }
  }
})

describe('a log never contains', () => {
  const token = 'x7Jw0-PqRstUvWxYz0123456789_abcdefghijklmno'
  const key = 'mf_live_0123456789abcdefghijABCDEFGHIJ0123456'
  for (const [name, facts, secret] of [
    ['a token in a field of any name', { url: `/api/check-mail?token=${token}` }, token],
    ['a token in an error message', { err: new Error(`no session ${token}`) }, token],
    ['a key', { header: key }, key.slice(12, 20)],
    ['a part of a key', { header: 'mf_test_AbCdcanary' }, 'canary'],
    ['a key within other text', { url: `/emails?k=${key.slice(0, 30)}&x` }, key.slice(12, 20)],
    ['a key that is truncated', { text: `${'a '.repeat(240)}${key}` }, key.slice(12, 16)],
    ['a token that is truncated', { text: `${'a '.repeat(240)}${token}` }, token.slice(0, 18)],
    ['a Stripe secret', { reason: 'no such key: sk_test_canary' }, 'canary'],
    ['a short Stripe secret', { reason: 'sk_canary' }, 'canary'],
    ['a restricted Stripe secret', { err: new Error('(rk_live_canary)') }, 'canary'],
    ['a webhook secret', { err: new Error('bad secret "whsec_cana+ry/="') }, 'cana'],
    ['a Stripe secret within a name', { reason: 'STRIPE_sk_live_canary' }, 'canary'],
    ['a Stripe secret in a cause', { err: fault('sk_live_canary') }, 'canary'],
    ['a password in a URL', { url: 'smtp://user:canary@mail.example:587' }, 'canary'],
    ['a user in a URL with a password', { url: 'smtp://user:canary@mail.example' }, 'user'],
    ['a password without a user', { url: 'redis://:canary@cache.example/0' }, 'canary'],
    ['a password that contains an @', { url: 'smtp://user:ca@nary@mail.example' }, 'ca@nary'],
    ['a password that contains a /', { url: 'smtp://user:ca/nary@mail.example' }, 'ca/na'],
    ['a password of digits', { url: 'smtp://user:12345@mail.example' }, '12345'],
    ['a password in an error message', { err: new Error('no smtps://u:canary@x here') }, 'canary'],
    [
      'a secret at the end of the scanned length',
      { x: `${'x'.repeat(1_480)} ${token}` },
      token.slice(0, 9),
    ],
    [
      'a password truncated before its end',
      { url: `${'a '.repeat(240)}smtp://u:${key}@x` },
      'mf_live',
    ],
    ['a field named token, however short its value', { token: 'short' }, 'short'],
    ['a field named key', { apiKey: 'short' }, 'short'],
    ['a field named password', { imapPassword: 'hunter2' }, 'hunter2'],
    ['an authorization header', { authorization: 'Bearer short' }, 'short'],
    ['a body', { body: 'dear ann' }, 'dear ann'],
    ['an address of a recipient', { recipient: 'ann.smith@box.example' }, 'nn.smith'],
    ['an address within other text', { reply: '550 no <ann.smith@box.example> here' }, 'nn.smith'],
    ['an address that we would refuse', { from: 'bounce=ann.smith@lists.example' }, 'nn.smith'],
    ['an address in a cause', { err: fault('ann.smith@box.example') }, 'nn.smith'],
  ] as const) {
    test(name, () => {
      for (const pretty of [false, 'colours'] as const) {
        const [line = ''] = logged({ pretty }, (log) => log.error(facts, 'x'))
        expect(line).not.toContain(secret)
      }
    })
  }

  test('a secret in the message', () => {
    expect(jsonOf({}, `${token} for ann.smith@box.example`)).toMatchObject({
      msg: '(hidden) for a…@box.example',
    })
  })

  test('more than the prefix of a key', () => {
    expect(jsonOf({ header: `${key}, sk_test_canary` })).toMatchObject({
      header: 'mf_live_0123(hidden), (hidden)',
    })
  })

  test('more than the beginning of a long text', () => {
    expect(jsonOf({ helo: 'a '.repeat(100_000) })).toMatchObject({ helo: `${'a '.repeat(250)}…` })
  })
})

test('similar text that is not secret is unchanged', () => {
  const task =
    'task_list, risk_all, mf_live_AbCd, https://box.example:8080/a?to=me, work_rk, sk_, 12:30'
  expect(jsonOf({ task })).toMatchObject({ task })
})

test('the host of a URL with a password is logged', () => {
  expect(jsonOf({ url: 'smtp://ann:canary@mail.example:587/x' })).toMatchObject({
    url: 'smtp://(hidden)@mail.example:587/x',
  })
})

test('the domain of an address is logged', () => {
  expect(jsonOf({ to: 'Ann@Box.example', from: 'b=c@lists.example' })).toMatchObject({
    to: 'a…@box.example',
    from: '…@lists.example',
  })
})

test('an error has type, code, stack and cause', () => {
  expect(jsonOf({ err: fault('disk is gone') })).toMatchObject({
    err: {
      type: 'TypeError',
      code: 'EIO',
      message: 'cannot write',
      stack: expect.stringMatching(/log\.test\.ts/),
      cause: 'Error: disk is gone',
    },
  })
})

test('a terminal gets a short line with colours, a pipe of a command without', () => {
  for (const [pretty, level] of [
    ['colours', '\u001b[36minfo \u001b[0m'],
    [true, 'info '],
  ] as const) {
    const [line = ''] = logged({ pretty }, (log) =>
      log.info({ bytes: 12, helo: 'mx.example', reply: '250 kept' }, 'mail kept'),
    )
    expect(line.slice(9)).toBe(
      `${level} smtp  mail kept bytes=12 helo=mx.example reply="250 kept"\n`,
    )
  }
})

test('journald gets the priority of each line before it', () => {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const log = openLog({ level: 'debug', thread: 'smtp' }, { pretty: false, journal: true, write })
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    log[level]({ level: 'error' }, 'x')
  expect(lines.map((line) => line.slice(0, 3))).toEqual(['<7>', '<6>', '<4>', '<3>'])
  for (const line of lines) expect(JSON.parse(line.slice(3))).toMatchObject({ msg: 'x' })
})

describe('a descriptor is the journal', () => {
  const file = openSync(process.execPath, 'r')
  afterAll(() => closeSync(file))
  const { dev, ino } = fstatSync(file)
  for (const [name, stream, isIt] of [
    ['if $JOURNAL_STREAM names it', `${dev}:${ino}`, true],
    ['not if it names another', `${dev}:${ino + 1}`, false],
    ['not without it', '', false],
  ] as const) {
    test(name, () => expect(isJournal(file, stream)).toBe(isIt))
  }
  test('not if it is closed', () => expect(isJournal(9_999, `${dev}:${ino}`)).toBe(false))
})

test('a text that is marked so is not redacted', () => {
  expect(jsonOf({ to: verbatim('l…n@box.test'), from: verbatim('a@b.test') })).toMatchObject({
    to: 'l…n@box.test',
    from: 'a@b.test',
  })
})

test('worker threads write complete lines to the same standard output', () => {
  const program = `
    import { Worker, isMainThread, workerData } from 'node:worker_threads'
    import { openLog } from ${JSON.stringify(new URL('./open-log.ts', import.meta.url).href)}
    const log = openLog({ level: 'info', thread: 'main' })
    for (let i = 0; i < 100; i++) log.info({ i }, 'x'.repeat(30))
    const body = \`import(\${JSON.stringify(${JSON.stringify(new URL('./open-log.ts', import.meta.url).href)})}).then(({ openLog }) => {
      const log = openLog({ level: 'info', thread: 'server' })
      for (let i = 0; i < 100; i++) log.info({ i }, 'y'.repeat(30))
      process.exit(0)
    })\`
    for (let i = 0; i < 2; i++) new Worker(body, { eval: true })
  `
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  const threads = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).thread)
  expect(threads.filter((thread) => thread === 'main')).toHaveLength(100)
  expect(threads.filter((thread) => thread === 'server')).toHaveLength(200)
})

function fault(message: string): Error {
  const cause = new Error(message)
  return Object.assign(new TypeError('cannot write', { cause }), { code: 'EIO' })
}

const LOG = JSON.stringify(new URL('./open-log.ts', import.meta.url).href)

/** The output if the writes take these numbers of bytes or fail; later writes succeed completely. */
function outputOf(steps: (number | string)[], lines: string[]): string {
  let output = ''
  const write = lineWriter((bytes) => {
    const step = steps.shift() ?? bytes.length
    if (typeof step === 'string') throw Object.assign(new Error(step), { code: step })
    output += Buffer.from(bytes.subarray(0, step)).toString('latin1')
    return step
  })
  for (const line of lines) write(line)
  return output
}

describe('a line is written', () => {
  for (const [name, steps, expected] of [
    ['in one write', [], 'one\ntwo\n'],
    ['in as many writes as it takes', [1, 2], 'one\ntwo\n'],
    ['once the pipe has room', ['EAGAIN', 'EAGAIN'], 'one\ntwo\n'],
    ['after another one that was lost', ['ENOSPC'], 'two\n'],
    ['on a line of its own after a partial line', [2, 'ENOSPC'], 'on\ntwo\n'],
  ] as const) {
    test(name, () => expect(outputOf([...steps], ['one\n', 'two\n'])).toBe(expected))
  }

  test('on a line of its own after a partial line, even if others were lost in between', () => {
    const steps = [2, 'ENOSPC', 'ENOSPC', 1, 'EIO']
    expect(outputOf(steps, ['one\n', 'two\n', 'three\n', 'four\n'])).toBe('on\nfour\n')
  })
})

test('a blocked or closed standard output does not end the program', () => {
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
  const stderr = execFileSync('sh', ['-c', command, process.execPath, program], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('alive')
})
