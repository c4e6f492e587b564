import { expect } from 'vitest'
import type { App } from '../app/app.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'

/** Over one connection for each hundred. */
export async function sendAll(app: App, to: string, some: string[]): Promise<void> {
  const BATCH = 100
  for (let start = 0; start < some.length; start += BATCH) {
    const client = await connectSmtp(app.smtpPort)
    for (const raw of some.slice(start, start + BATCH)) {
      const { code } = await client.send({ to: [to], raw })
      expect(code).toBe(250)
    }
    client.close()
  }
}

// Text is escaped whatever it contains, so some payloads are enough.
const TEXT_STEP = process.env['MAYFLY_TEST_LONG'] ? 1 : 2

// A page that is not painted would otherwise hang until the limit of the test, which says nothing.
const DISPLAY_MS = 60_000

/** An expression: opens the messages with the subjects Letter `first` and so on. Those below `payloads` are HTML alone. */
export function openAllScript(first: number, count: number, payloads: number): string {
  return `(${OPEN_ALL})(${first}, ${count}, ${payloads})`
}

// From the newest to the oldest, with one key. Each is viewed as a message, some payloads also as text, and other mails
// also by their headers and source; frames have loaded and been painted before the next one.
const OPEN_ALL = `async (first, count, payloads) => {
  const loaded = new WeakSet()
  document.addEventListener('load', ({ target }) => loaded.add(target), true)
  document.querySelector('.mail-open').click()
  const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const until = async (what) => {
    for (;;) {
      const found = what()
      if (found) return found
      await new Promise(requestAnimationFrame)
    }
  }
  const article = (number) => {
    const found = document.querySelector('article.reader[aria-busy=false]')
    const [, subject] = /^Letter (\\d+)/.exec(found?.querySelector('h2').textContent ?? '') ?? []
    return Number(subject) === number ? found : undefined
  }
  const shown = (found) => {
    const tab = found.querySelector('[role=tab][aria-selected=true]')
    if (tab?.dataset.name !== 'html') return tab
    const frame = found.querySelector('.mail-frame')
    return frame && loaded.has(frame)
  }
  const others = (number, isHtml) => {
    if (!isHtml) return ['headers', 'raw']
    if (number >= payloads) return ['text', 'headers', 'raw']
    return number % ${TEXT_STEP} === 0 ? ['text'] : []
  }
  const open = async (number) => {
    const found = await until(() => article(number))
    await until(() => shown(found))
    await painted()
    const isHtml = found.querySelector('[role=tab]').dataset.name === 'html'
    for (const name of others(number, isHtml)) {
      found.querySelector('[data-name=' + name + ']').click()
      await until(() => found.querySelector('.mail-text, .mail-headers, .mail-raw, .tab-view .soft'))
      await painted()
    }
    if (number > first) found.querySelector('[aria-label="Older message"]').click()
  }
  for (let number = first + count - 1; number >= first; number -= 1) {
    let timer
    const late = new Promise((_, reject) => {
      const fault = 'Letter ' + number + ' is not displayed after ${DISPLAY_MS} ms'
      timer = setTimeout(() => reject(new Error(fault + ', page ' + document.visibilityState)), ${DISPLAY_MS})
    })
    await Promise.race([open(number), late])
    clearTimeout(timer)
  }
  return count
}`
