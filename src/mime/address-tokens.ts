/** A piece of an address header. `glued`: nothing stands between it and the piece before. */
export interface Token {
  kind: 'atom' | 'word' | 'quoted' | 'comment' | 'angle' | 'comma' | 'colon'
  /** As it came, delimiters included. */
  source: string
  glued: boolean
}

/** Cuts an address header into pieces, each character looked at a fixed number of times whatever the sender wrote. */
export function* addressTokens(line: string): Generator<Token> {
  // A quote or bracket that is never closed is an ordinary character, and so are all of its kind after it.
  const unclosed = new Set<string>()
  for (let at = 0, last = 0; at < line.length; ) {
    if (isBlank(line[at])) {
      at += 1
      continue
    }
    const piece = pieceAt(line, at, unclosed)
    if (piece.end < 0) {
      unclosed.add(line[at] ?? '')
      continue
    }
    yield { kind: piece.kind, source: line.slice(at, piece.end), glued: at > 0 && at === last }
    last = piece.end
    at = piece.end
  }
}

/** `end` is -1 where something opens here that is never closed. */
function pieceAt(line: string, at: number, unclosed: Set<string>) {
  const char = line[at] ?? ''
  const special = unclosed.has(char) ? undefined : SPECIAL[char]
  if (special) return { kind: special.kind, end: special.end(line, at) }
  const word = char === '=' ? wordEnd(line, at) : -1
  if (word > 0) return { kind: 'word', end: word } as const
  return { kind: 'atom', end: atomEnd(line, at, unclosed) } as const
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t'
}

const SPECIAL: Partial<
  Record<string, { kind: Token['kind']; end: (line: string, at: number) => number }>
> = {
  '"': { kind: 'quoted', end: quotedEnd },
  '(': { kind: 'comment', end: commentEnd },
  '<': { kind: 'angle', end: angleEnd },
  ',': { kind: 'comma', end: (_, at) => at + 1 },
  // Some programs put semicolons between addresses; as the end of a group it separates just as well.
  ';': { kind: 'comma', end: (_, at) => at + 1 },
  ':': { kind: 'colon', end: (_, at) => at + 1 },
}

// An encoded word is one piece even where its sender left a comma or a bracket in it, as many do.
const WORD = /=\?[^?\s]{1,60}\?[bq]\?[^?\s]*\?=/iy

function wordEnd(line: string, at: number): number {
  WORD.lastIndex = at
  return WORD.test(line) ? WORD.lastIndex : -1
}

function quotedEnd(line: string, at: number): number {
  for (let i = at + 1; i < line.length; i += 1) {
    if (line[i] === '\\') i += 1
    else if (line[i] === '"') return i + 1
  }
  return -1
}

function commentEnd(line: string, at: number): number {
  let depth = 0
  for (let i = at; i < line.length; i += 1) {
    const char = line[i]
    if (char === '\\') i += 1
    else if (char === '(') depth += 1
    else if (char === ')') depth -= 1
    if (depth === 0) return i + 1
  }
  return -1
}

/** Ends before a further `<`: in `Bob <work <bob@x.test>` the bracket that closes is the one that counts. */
function angleEnd(line: string, at: number): number {
  for (let i = at + 1; i < line.length; i += 1) {
    const char = line[i]
    if (char === '\\') i += 1
    else if (char === '>') return i + 1
    else if (char === '<') return i
    else if (char === '"') {
      const end = quotedEnd(line, i)
      if (end < 0) return -1
      i = end - 1
    }
  }
  return -1
}

function atomEnd(line: string, at: number, unclosed: Set<string>): number {
  for (let i = at + 1; i < line.length; i += 1) {
    const char = line[i] ?? ''
    if (line[i - 1] === '\\') continue
    if (char === '[' && line[i - 1] === '@') {
      const close = line.slice(i, i + MAX_LITERAL).indexOf(']')
      if (close > 0) i += close
    } else if (isBlank(char) || (SPECIAL[char] && !unclosed.has(char))) return i
  }
  return line.length
}

// `[IPv6:…]` holds colons that begin no group.
const MAX_LITERAL = 64
