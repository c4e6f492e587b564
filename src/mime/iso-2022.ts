/** A coded character set, by the charset whose decoder has it. */
interface CodedSet {
  charset: string
  /** Bytes per character. The decoder expects them with the high bit, after the prefix. */
  width: 1 | 2
  prefix?: number
  /** In the order of their bytes, once they are needed. */
  characters?: Uint16Array
}

const JIS_X_0208: CodedSet = { charset: 'euc-jp', width: 2 }
const KATAKANA: CodedSet = { charset: 'euc-jp', width: 1, prefix: 0x8e }
const GB_2312: CodedSet = { charset: 'gbk', width: 2 }
const KS_X_1001: CodedSet = { charset: 'euc-kr', width: 2 }

/** Undefined: ASCII. */
type GraphicSet = CodedSet | 'roman' | undefined

// What follows ESC: RFC 1468, 1554, 1557, 1922 and 2237. JIS X 0213 (`$(O`, `$(Q`) extends JIS X 0208. There is no decoder for
// CNS 11643, which is the other set of ISO-2022-CN.
const DESIGNATIONS = new Map<string, { to: 'g0' | 'g1' | 'g2'; as: GraphicSet }>([
  ['(B', { to: 'g0', as: undefined }],
  ['(J', { to: 'g0', as: 'roman' }],
  ['(H', { to: 'g0', as: 'roman' }],
  ['(I', { to: 'g0', as: KATAKANA }],
  ['$@', { to: 'g0', as: JIS_X_0208 }],
  ['$B', { to: 'g0', as: JIS_X_0208 }],
  ['$(B', { to: 'g0', as: JIS_X_0208 }],
  ['$(O', { to: 'g0', as: JIS_X_0208 }],
  ['$(Q', { to: 'g0', as: JIS_X_0208 }],
  ['$(D', { to: 'g0', as: { charset: 'euc-jp', width: 2, prefix: 0x8f } }],
  ['$A', { to: 'g0', as: GB_2312 }],
  ['$(C', { to: 'g0', as: KS_X_1001 }],
  ['$)A', { to: 'g1', as: GB_2312 }],
  ['$)C', { to: 'g1', as: KS_X_1001 }],
  ['.A', { to: 'g2', as: { charset: 'iso-8859-1', width: 1 } }],
  ['.F', { to: 'g2', as: { charset: 'iso-8859-7', width: 1 } }],
])

const BY_NUMBER = new Map(
  [...DESIGNATIONS].map(([text, found]) => [numberOf(...Buffer.from(text)), found]),
)

// Escape sequences are compared as numbers, because a mail may consist of them.
function numberOf(first = 0, second = 0, third = 0): number {
  return (first << 16) | (second << 8) | third
}

const LABEL = /^(?:x-)?(?:(?:cs)?iso-?2022-?(jp|kr|cn)|cp5022[0-2])/
/** What SO shifts to without a designation. */
const SHIFTED: Partial<Record<string, CodedSet>> = { kr: KS_X_1001, cn: GB_2312 }

/** Undefined if it is another charset. */
export function decodeIso2022(bytes: Uint8Array, charset: string): string | undefined {
  const label = LABEL.exec(charset)
  return label ? decode(bytes, SHIFTED[label[1] ?? ''] ?? KATAKANA) : undefined
}

/** RFC 1843. */
export function decodeHz(bytes: Buffer): string {
  const text = bytes.toString('latin1').replace(HZ_SHIFT, (whole, characters?: string) => {
    if (characters !== undefined) return `\x1b$A${characters}\x1b(B`
    return whole === '~~' ? '~' : ''
  })
  return decode(Buffer.from(text, 'latin1'), GB_2312)
}

const HZ_SHIFT = /~\{((?:[!-w][!-~])*)(?:~\})?|~~|~\n/g

interface Decoding {
  bytes: Uint8Array
  at: number
  g0: GraphicSet
  g1: GraphicSet
  g2: GraphicSet
  isShifted: boolean
  /** UTF-16: at most one unit per byte. */
  decoded: Uint16Array
  length: number
}

const LF = 0x0a
const SO = 0x0e
const SI = 0x0f
const ESC = 0x1b
/** ESC N: the next character is of G2. */
const SINGLE_SHIFT = 0x4e
const INVALID = 0xfffd

/**
 * Unlike TextDecoder, which replaces an escape sequence that follows another one: they meet wherever two encoded words are
 * joined. What cannot be decoded is replaced character by character.
 */
function decode(bytes: Uint8Array, g1: CodedSet): string {
  const decoded = new Uint16Array(bytes.length)
  const [g0, g2] = [undefined, undefined]
  const state: Decoding = { bytes, at: 0, g0, g1, g2, isShifted: false, decoded, length: 0 }
  while (state.at < bytes.length) {
    const byte = bytes[state.at] ?? 0
    if (byte === ESC) readEscape(state)
    else if (byte === SO || byte === SI) {
      state.isShifted = byte === SO
      state.at += 1
    } else {
      // Each line starts anew.
      if (byte === LF) shiftBack(state)
      readCharacter(state, state.isShifted ? state.g1 : state.g0)
    }
  }
  return Buffer.from(decoded.buffer, 0, 2 * state.length).toString('utf16le')
}

function readEscape(state: Decoding): void {
  const { bytes, at } = state
  if (bytes[at + 1] === SINGLE_SHIFT) {
    state.at += 2
    readCharacter(state, state.g2)
    return
  }
  const two = BY_NUMBER.get(numberOf(bytes[at + 1], bytes[at + 2]))
  const found = two ?? BY_NUMBER.get(numberOf(bytes[at + 1], bytes[at + 2], bytes[at + 3]))
  if (found) {
    state[found.to] = found.as
    state.at += two ? 3 : 4
  } else {
    // What follows is shown as it is.
    shiftBack(state)
    write(state, INVALID)
    state.at += 1
  }
}

function shiftBack(state: Decoding): void {
  state.g0 = undefined
  state.isShifted = false
}

function readCharacter(state: Decoding, set: GraphicSet): void {
  const { bytes, at } = state
  const [first = 0, second = 0] = [bytes[at], bytes[at + 1]]
  state.at += 1
  if (!isGraphic(first)) write(state, first < 0x80 ? first : INVALID)
  else if (set === undefined) write(state, first)
  else if (set === 'roman') write(state, ROMAN.get(first) ?? first)
  else if (set.width === 2 && !isGraphic(second)) write(state, INVALID)
  else {
    set.characters ??= decodeAll(set)
    const row = first - FIRST_GRAPHIC
    const index = set.width === 1 ? row : row * GRAPHIC + second - FIRST_GRAPHIC
    write(state, set.characters[index])
    state.at += set.width - 1
  }
}

// The characters of JIS X 0201 that ASCII does not have.
const ROMAN = new Map([
  [0x5c, 0xa5],
  [0x7e, 0x203e],
])

const FIRST_GRAPHIC = 0x21
/** How many bytes are graphic. */
const GRAPHIC = 94

/** All at once, because a mail may change its set with each character. */
function decodeAll(set: CodedSet): Uint16Array {
  const rows = Array.from({ length: GRAPHIC }, (_, at) => (at + FIRST_GRAPHIC) | 0x80)
  const all =
    set.width === 1 ? rows.map((row) => [row]) : rows.flatMap((a) => rows.map((b) => [a, b]))
  const prefix = set.prefix === undefined ? [] : [set.prefix]
  const bytes = Uint8Array.from(all.flatMap((one) => [...prefix, ...one, LF]))
  const lines = new TextDecoder(set.charset).decode(bytes).split('\n', all.length)
  return Uint16Array.from(lines, (line) => (line.length === 1 ? line.charCodeAt(0) : INVALID))
}

function isGraphic(byte: number): boolean {
  return byte >= FIRST_GRAPHIC && byte < FIRST_GRAPHIC + GRAPHIC
}

function write(state: Decoding, code = INVALID): void {
  state.decoded[state.length++] = code
}
