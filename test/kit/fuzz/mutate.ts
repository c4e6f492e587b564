/** What inputs are made from. */
export interface Material {
  seeds: readonly Uint8Array[]
  /** Words of the format, which plain byte mutations would hardly ever find. */
  tokens: readonly (string | Uint8Array)[]
  maxBytes: number
}

/** Mutations of nothing would be noise. */
export function checkSeeds({ seeds }: Pick<Material, 'seeds'>): void {
  const empty = seeds.filter(({ length }) => length === 0).length
  if (seeds.length === 0 || empty > 0)
    throw new Error(`${seeds.length} seeds, ${empty} of them empty`)
}

/** Numbers in [0, below), the same for the same seed (splitmix32). */
export type Random = (below: number) => number

export function randomFrom(seed: number): Random {
  let state = seed | 0
  return (below) => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return Math.floor((((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32) * below)
  }
}

/** The input of this number, always the same: first the seeds as they are, then mutations of them. */
export function inputOf(material: Material, number: number): Buffer {
  const { seeds, maxBytes } = material
  const seed = seeds[number]
  if (seed) return Buffer.from(seed.subarray(0, maxBytes))
  const random = randomFrom(number)
  let input = slice(pick(seeds, random), maxBytes, random)
  // Three mutations on average.
  do {
    input = pick(MUTATIONS, random)(input, random, material)
  } while (random(3) > 0)
  return input.subarray(0, maxBytes)
}

type Mutation = (input: Buffer, random: Random, material: Material) => Buffer

const BYTES = [
  ...Buffer.from('\0\t\n\r "\'%&()*+,-./0:;<=>?@[\\]^_`{|}~aZ\x7f\x80\xc0\xed\xfe\xff', 'latin1'),
]
const NUMBERS = [
  ...['', '0', '1', '-1', '-0', '00', '255', '256', '999', '1e9', '1e999', '0x10', 'NaN', '٣'],
  ...['65535', '65536', '2147483647', '2147483648', '4294967295', '4294967296'],
  ...['9007199254740991', '9007199254740993', '9223372036854775808', '99999999999999999999'],
]
const DIGITS = /[0-9]+/g
const WORDS = /[A-Za-z0-9_-]{2,}/g

const MUTATIONS: readonly Mutation[] = [
  function changeByte(input, random) {
    const changed = Buffer.from(input)
    if (changed.length > 0) changed[random(changed.length)] = anyByte(random)
    return changed
  },
  (input, random) => insert(input, random, Buffer.from([anyByte(random)])),
  (input, random, { tokens }) => insert(input, random, tokenOf(tokens, random)),
  (input, random, { tokens }) => insert(input, random, tokenOf(tokens, random)),
  function deleteRange(input, random) {
    const [start, end] = range(input, random)
    return Buffer.concat([input.subarray(0, start), input.subarray(end)])
  },
  function truncate(input, random) {
    return input.subarray(0, random(input.length + 1))
  },
  function repeatRange(input, random, { maxBytes }) {
    const [start, end] = range(input, random)
    if (start === end) return input
    const room = Math.max(0, Math.floor((maxBytes - input.length) / (end - start)))
    const times = random(8) === 0 ? room : random(Math.min(room, 8) + 1)
    const copies = Buffer.alloc(times * (end - start), input.subarray(start, end))
    return Buffer.concat([input.subarray(0, end), copies, input.subarray(end)])
  },
  function swapRanges(input, random) {
    const [first, second] = range(input, random)
    const third = second + random(input.length - second + 1)
    const [one, other] = [input.subarray(first, second), input.subarray(second, third)]
    return Buffer.concat([input.subarray(0, first), other, one, input.subarray(third)])
  },
  function splice(input, random, { seeds, maxBytes }) {
    const other = slice(pick(seeds, random), maxBytes, random)
    const tail = other.subarray(random(other.length + 1))
    return Buffer.concat([input.subarray(0, random(input.length + 1)), tail])
  },
  (input, random) => replaceMatch(input, random, DIGITS, Buffer.from(pick(NUMBERS, random))),
  (input, random, { tokens }) => replaceMatch(input, random, WORDS, tokenOf(tokens, random)),
]

function insert(input: Buffer, random: Random, bytes: Buffer): Buffer {
  const at = random(input.length + 1)
  return Buffer.concat([input.subarray(0, at), bytes, input.subarray(at)])
}

/** The first match after a random position. */
function replaceMatch(input: Buffer, random: Random, pattern: RegExp, bytes: Buffer): Buffer {
  pattern.lastIndex = random(input.length + 1)
  const found = pattern.exec(input.toString('latin1'))
  if (!found) return insert(input, random, bytes)
  const end = found.index + found[0].length
  return Buffer.concat([input.subarray(0, found.index), bytes, input.subarray(end)])
}

function tokenOf(tokens: Material['tokens'], random: Random): Buffer {
  const token = pick(tokens.length > 0 ? tokens : NUMBERS, random)
  return typeof token === 'string' ? Buffer.from(token) : Buffer.from(token)
}

/** Mostly short. */
function range({ length }: Buffer, random: Random): [start: number, end: number] {
  const start = random(length + 1)
  const longest = Math.min(length - start, 2 ** (1 + random(12)))
  return [start, start + random(longest + 1)]
}

/** Of what is too long, the beginning or another part. */
function slice(bytes: Uint8Array, maxBytes: number, random: Random): Buffer {
  const start = random(2) * random(Math.max(0, bytes.length - maxBytes) + 1)
  return Buffer.from(bytes.subarray(start, start + maxBytes))
}

function anyByte(random: Random): number {
  return random(2) === 0 ? random(256) : pick(BYTES, random)
}

function pick<T>(list: readonly T[], random: Random): T {
  const chosen = list[random(list.length)]
  if (chosen === undefined) throw new Error('nothing to choose from')
  return chosen
}

/** Deletes chunks, from large to single bytes, for as long as what is left still fails. */
export async function minimise(
  input: Buffer,
  fails: (input: Buffer) => boolean | Promise<boolean>,
  maxTries: number,
): Promise<Buffer> {
  let smallest = input
  let tries = 0
  for (
    let size = Math.ceil(input.length / 2);
    size > 0;
    size = size > 1 ? Math.ceil(size / 2) : 0
  ) {
    for (let at = 0; at < smallest.length && tries < maxTries; tries += 1) {
      const shorter = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)])
      if (await fails(shorter)) smallest = shorter
      else at += size
    }
  }
  return smallest
}
