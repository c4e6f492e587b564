import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packExtension } from '../../build/extension.ts'
import { LANGUAGES } from '../../src/shared/languages.ts'

const LARGEST = 60_000
const folder = mkdtempSync(join(tmpdir(), 'mayfly-extension-'))
const packed = (browser: string, run = 'first') => {
  const [name = ''] = globSync(`*-${browser}-*.zip`, { cwd: join(folder, run) })
  return readFileSync(join(folder, run, name))
}

beforeAll(async () => {
  await packExtension(join(folder, 'first'))
  await packExtension(join(folder, 'second'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The files of an archive, found as programs do: by its directory, from the end. */
function unzip(archive: Buffer): Map<string, string> {
  const end = archive.length - 22
  expect(archive.readUInt32LE(end)).toBe(0x06054b50)
  const files = new Map<string, string>()
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const length = archive.readUInt16LE(at + 28)
    const name = archive.toString('utf8', at + 46, at + 46 + length)
    const start = archive.readUInt32LE(at + 42) + 30 + length
    const data = archive.subarray(start, start + archive.readUInt32LE(at + 20))
    files.set(name, inflateRawSync(data).toString())
    at += 46 + length
  }
  return files
}

test('there is a package for each browser', () => {
  expect(readdirSync(join(folder, 'first')).sort()).toEqual([
    expect.stringMatching(/^mayfly-extension-chromium-[\d.]+\.zip$/),
    expect.stringMatching(/^mayfly-extension-firefox-[\d.]+\.zip$/),
  ])
})

describe.each(['chromium', 'firefox'])('for %s', (browser) => {
  let files: Map<string, string>
  let manifest: Record<string, unknown>
  beforeAll(() => {
    files = unzip(packed(browser))
    manifest = JSON.parse(files.get('manifest.json') ?? '')
  })

  test('the package has at most 60 kB', () => {
    expect(packed(browser).length).toBeLessThanOrEqual(LARGEST)
  })

  test('the same sources make the same bytes', () => {
    expect(packed(browser).equals(packed(browser, 'second'))).toBe(true)
  })

  test('no site is asked for at installation, and none can reach the extension', () => {
    expect(manifest['permissions']).toEqual([
      ...['activeTab', 'alarms', 'contextMenus', 'scripting', 'storage'],
    ])
    expect(manifest['optional_host_permissions']).toEqual(['*://*/*'])
    for (const name of [
      ...['host_permissions', 'optional_permissions', 'content_scripts'],
      ...['web_accessible_resources', 'externally_connectable'],
    ]) {
      expect(manifest).not.toHaveProperty(name)
    }
  })

  test('the policy allows scripts of the package only', () => {
    const { extension_pages: policy } = manifest['content_security_policy'] as {
      extension_pages: string
    }
    expect(policy).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(policy).not.toContain('unsafe')
    // What default-src does not cover.
    for (const name of ['base-uri', 'form-action', 'frame-ancestors']) {
      expect(policy).toContain(`${name} 'none'`)
    }
  })

  test('nothing is inserted as HTML, and no code is made of text', () => {
    for (const name of ['background.js', 'content.js', 'popup.js', 'options.js']) {
      const script = files.get(name) ?? ''
      expect(script.length, name).toBeGreaterThan(1000)
      expect(script, name).not.toMatch(/\beval\(|new Function|insertAdjacentHTML|document\.write/)
    }
    expect(files.get('content.js')).not.toContain('innerHTML')
  })

  test('every file that the manifest and the pages name is there', () => {
    const pages = ['popup.html', 'options.html'].map((name) => files.get(name) ?? '')
    const text = [JSON.stringify(manifest), ...pages].join()
    const named = [...text.matchAll(/"([\w-]+\.(?:js|css|html|png))"/g)].map(([, name]) => name)
    expect(named.length).toBeGreaterThan(6)
    expect(named.filter((name = '') => !files.has(name))).toEqual([])
  })

  test('every language has the same texts with the same placeholders', () => {
    type Messages = Record<string, { message: string; placeholders?: object }>
    const messages = (language: string): Messages =>
      JSON.parse(files.get(`_locales/${language}/messages.json`) ?? '{}')
    const english = Object.entries(messages('en'))
    expect(english.length).toBeGreaterThan(60)
    for (const language of Object.keys(LANGUAGES)) {
      const texts = messages(language)
      expect(Object.keys(texts)).toEqual(english.map(([name]) => name))
      for (const [name, { message, placeholders = {} }] of english) {
        const uses = (text = '') => [...text.matchAll(/\$(\w+)\$/g)].map(([, one]) => one).sort()
        expect(texts[name]?.message, `${language} ${name}`).not.toBe('')
        expect(uses(texts[name]?.message), `${language} ${name}`).toEqual(uses(message))
        expect(Object.keys(placeholders).sort()).toEqual([...new Set(uses(message))])
      }
    }
  })
})

test('the background script starts as each browser wants it', () => {
  const backgroundOf = (browser: string) =>
    JSON.parse(unzip(packed(browser)).get('manifest.json') ?? '')['background']
  expect(backgroundOf('chromium')).toEqual({ service_worker: 'background.js' })
  expect(backgroundOf('firefox')).toEqual({ scripts: ['background.js'] })
})
