import { type Canary, hostsIn, openCanary } from '../page/canary.ts'
import { PAYLOADS } from '../page/hostile-html.ts'
import { openSanitiser, renderWithLayers } from '../page/layers.ts'
import type { Finding, Outcome } from './fuzz.ts'
import { inputOf, minimise } from './mutate.ts'
import { checkSanitised } from './sanitised.ts'
import { bytesOf } from './seeds.ts'
import { HTML_TOKENS } from './targets/html.ts'

/** The sanitizer alone must do: no sandbox and no policy. */
const ALONE = { purifier: true, sandbox: false, policy: undefined }
const NOTHING = { purifier: false, sandbox: 'allow-scripts', policy: undefined }
const MATERIAL = { seeds: bytesOf(PAYLOADS), tokens: HTML_TOKENS, maxBytes: 4 * 1024 }
const AT_ONCE = 500
const MAX_TRIES = 100

/**
 * Mail as the page sanitizes it in Chromium. A finding runs a script, requests something or navigates when it is shown, or has
 * something that may to another parser.
 */
export async function fuzzInBrowser({
  first,
  count,
}: {
  first: number
  count: number
}): Promise<Outcome & { control: number }> {
  const canary = await openCanary(hostsIn(PAYLOADS))
  const { sanitise } = await openSanitiser(canary.browser)
  const findings: Finding[] = []
  const faultOf = async (input: Buffer) => {
    const { head, body } = await sanitise(input.toString())
    try {
      checkSanitised(head)
      checkSanitised(body)
      return ''
    } catch (error) {
      return String(error)
    }
  }
  const add = async (number: number, messageOf: (input: Buffer) => Promise<string>) => {
    const fails = async (other: Buffer) => (await messageOf(other)) !== ''
    const input = await minimise(inputOf(MATERIAL, number), fails, MAX_TRIES)
    findings.push({ kind: 'throws', number, input, message: await messageOf(input) })
  }
  try {
    for (let at = 0; at < count; at += AT_ONCE) {
      const numbers = Array.from(
        { length: Math.min(AT_ONCE, count - at) },
        (_, i) => first + at + i,
      )
      for (const number of numbers) {
        if ((await faultOf(inputOf(MATERIAL, number))) !== '') await add(number, faultOf)
      }
      for (const number of await firing(canary, numbers)) {
        await add(number, (input) => effects(canary, [input]))
      }
    }
    const control = inputsOf(Array.from({ length: 100 }, (_, at) => first + at))
    const { ran } = await renderWithLayers(canary, NOTHING, control)
    return { inputs: count, findings, maxCost: 0, maxMs: 0, control: ran.length }
  } finally {
    await canary.close()
  }
}

const inputsOf = (numbers: readonly number[]) =>
  numbers.map((number) => inputOf(MATERIAL, number).toString())

/** Those of the inputs that have an effect. */
async function firing(canary: Canary, numbers: readonly number[]): Promise<readonly number[]> {
  const inputs = numbers.map((number) => inputOf(MATERIAL, number))
  if ((await effects(canary, inputs)) === '') return []
  if (numbers.length === 1) return numbers
  const half = Math.ceil(numbers.length / 2)
  return [
    ...(await firing(canary, numbers.slice(0, half))),
    ...(await firing(canary, numbers.slice(half))),
  ]
}

/** '' if nothing happens. */
async function effects(canary: Canary, inputs: readonly Buffer[]): Promise<string> {
  canary.requests.length = 0
  const { ran, requested, left } = await renderWithLayers(canary, ALONE, inputs.map(String))
  return [
    ...ran.map((what) => `runs ${what}`),
    ...[...requested, ...canary.requests].map((what) => `requests ${what}`),
    ...left.map((what) => `leaves for ${what}`),
  ].join(', ')
}
