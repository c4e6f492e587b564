type Piece = string | { url: string }

/** Splits text into plain text and URLs. Joined, the pieces are the text again; nothing is ever inserted as markup. */
export function autolink(text: string): Piece[] {
  const pieces: Piece[] = []
  let end = 0
  for (const { 0: match, index } of text.matchAll(URL_PATTERN)) {
    const url = trimUrl(match)
    if (!URL.canParse(url)) continue
    if (index > end) pieces.push(text.slice(end, index))
    pieces.push({ url })
    end = index + url.length
  }
  if (end < text.length) pieces.push(text.slice(end))
  return pieces
}

// Ends at a quote, an angle bracket, a space or wide punctuation, although browsers accept them: mails put URLs between them.
const URL_PATTERN = /\bhttps?:\/\/[^\s<>"'`\u3000-\u303f\uff00-\uffef\p{Cc}\p{Cf}]{1,4000}/giu
const CLOSERS = { ')': '(', ']': '[', '}': '{' } as const
const PUNCTUATION = /[.,;:!?*_~|\\…»«›‹”’“‘،؛؟۔।]/

/** Without trailing punctuation of the sentence; a closing bracket stays if the URL opens it. */
function trimUrl(match: string): string {
  // Counted once, so that a long run of brackets does not take quadratic time.
  const counts: Record<string, number> = {}
  for (const character of match) counts[character] = (counts[character] ?? 0) + 1
  let end = match.length
  for (; end > 0; end -= 1) {
    const last = match.charAt(end - 1)
    const opener = CLOSERS[last as keyof typeof CLOSERS]
    const closers = counts[last] ?? 0
    if (opener ? closers <= (counts[opener] ?? 0) : !PUNCTUATION.test(last)) break
    counts[last] = closers - 1
  }
  return match.slice(0, end)
}
