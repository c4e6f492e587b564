import { withTimeout } from '../../../src/base/jobs/repeat.ts'
import { type Canary, hostsIn, openCanary } from '../page/canary.ts'
import { PAYLOADS } from '../page/hostile-html.ts'
import { openSanitiser, renderWithLayers } from '../page/layers.ts'
import { openCosts } from './costs.ts'
import { describeFinding, type Finding, type Outcome } from './fuzz.ts'
import { checkSeeds, inputOf, minimise } from './mutate.ts'
import { checkSanitised } from './sanitised.ts'
import { htmlSeeds } from './seeds.ts'
import { HTML_TOKENS } from './targets/html.ts'

/** The sanitizer alone must do: no sandbox and no policy. */
const ALONE = { purifier: true, sandbox: false, policy: undefined }
const NOTHING = { purifier: false, sandbox: 'allow-scripts', policy: undefined }
const MATERIAL = { seeds: htmlSeeds(), tokens: HTML_TOKENS, maxBytes: 4 * 1024 }
const AT_ONCE = 500
const WARM_UP = 100
const MAX_TRIES = 100
const MAX_FINDINGS = 5
/** For one input, and for all that are shown at once. */
const HANG_MS = 10_000
const SHOW_MS = 120_000

/**
 * Mail as the page sanitizes it in Chromium. A finding runs a script, requests something or navigates when it is shown, or has
 * something that may to another parser. Rejects with a finding that hangs or crashes: the page cannot go on.
 */
export async function fuzzInBrowser(
  name: string,
  { first, count }: { first: number; count: number },
): Promise<Outcome & { control: number }> {
  checkSeeds(MATERIAL)
  const canary = await openCanary(hostsIn(PAYLOADS))
  const sanitiser = await openSanitiser(canary.browser)
  const findings: Finding[] = []
  let [number, accepted] = [first, 0]

  const stops = (kind: 'hangs' | 'crashes', input: Buffer, message: string) =>
    new Error(describeFinding(name, { kind, number, input, message }))

  async function sanitise(input: Buffer) {
    const clean = await withTimeout(HANG_MS, sanitiser.sanitise(input.toString()).catch(String))
    if (clean === undefined) throw stops('hangs', input, `takes longer than ${HANG_MS} ms`)
    if (typeof clean === 'string') {
      const isAlive = await withTimeout(
        HANG_MS,
        sanitiser.sanitise('').catch(() => undefined),
      )
      if (!isAlive) throw stops('crashes', input, clean)
      return { ms: 0, isAccepted: false, fault: clean }
    }
    const isAccepted = clean.head + clean.body !== ''
    return { ms: clean.ms, isAccepted, fault: faultOf(clean.head, clean.body) }
  }

  async function add(at: number, message: string, faultIn: (input: Buffer) => Promise<string>) {
    const fails = async (other: Buffer) => (await faultIn(other)) !== ''
    const input = await minimise(inputOf(MATERIAL, at), fails, MAX_TRIES)
    findings.push({ kind: 'throws', number: at, input, message })
  }

  const costs = openCosts(async (input) => (await sanitise(input)).ms)
  try {
    for (const one of inputsOf(first, Math.min(WARM_UP, count))) await sanitise(one)
    while (number < first + count && findings.length < MAX_FINDINGS) {
      const start = number
      const inputs = inputsOf(start, Math.min(AT_ONCE, first + count - start))
      for (const input of inputs) {
        const { ms, isAccepted, fault } = await sanitise(input)
        await costs.add(input, number, ms)
        if (isAccepted) accepted += 1
        if (fault !== '') await add(number, fault, async (other) => (await sanitise(other)).fault)
        number += 1
      }
      const shown = await firing(canary, inputs).catch((cause: unknown) => {
        throw new Error(`${name}, one of the inputs ${start} to ${number - 1}: ${cause}`)
      })
      for (const { at, message } of shown) {
        await add(start + at, message, (input) => effects(canary, [input]))
      }
    }
    const { slow, ...most } = await costs.judge()
    const control = await renderWithLayers(canary, NOTHING, inputsOf(first, 100).map(String))
    const all = { inputs: number - first, accepted, findings: [...findings, ...slow] }
    return { ...all, ...most, control: control.ran.length }
  } finally {
    await canary.close()
    await sanitiser.close()
  }
}

function inputsOf(first: number, count: number): Buffer[] {
  return Array.from({ length: count }, (_, at) => inputOf(MATERIAL, first + at))
}

/** '' if there is none. */
function faultOf(...parts: string[]): string {
  try {
    for (const part of parts) checkSanitised(part)
    return ''
  } catch (error) {
    return String(error)
  }
}

interface Effect {
  /** Index of the input. */
  at: number
  message: string
}

/** Those of the inputs that have an effect, alone or with those that follow. */
async function firing(canary: Canary, inputs: readonly Buffer[], start = 0): Promise<Effect[]> {
  const message = await effects(canary, inputs)
  if (message === '') return []
  if (inputs.length === 1) return [{ at: start, message }]
  const half = Math.ceil(inputs.length / 2)
  const found = [
    ...(await firing(canary, inputs.slice(0, half), start)),
    ...(await firing(canary, inputs.slice(half), start + half)),
  ]
  if (found.length > 0) return found
  return [{ at: start, message: `${message}, among ${inputs.length} inputs; none in half of them` }]
}

/** '' if nothing happens. */
async function effects(canary: Canary, inputs: readonly Buffer[]): Promise<string> {
  canary.requests.length = 0
  const shown = renderWithLayers(canary, ALONE, inputs.map(String))
  const observed = await withTimeout(SHOW_MS, shown)
  if (!observed) throw new Error(`${inputs.length} inputs take longer than ${SHOW_MS} ms to show`)
  const { ran, requested, left } = observed
  return [
    ...ran.map((what) => `runs ${what}`),
    ...[...requested, ...canary.requests].map((what) => `requests ${what}`),
    ...left.map((what) => `leaves for ${what}`),
  ].join(', ')
}
