/** Plain words, or an address on the web that stands among them. */
type Piece = string | { url: string }

/** Text cut into words and addresses. Together they are the text again, so nothing is ever written as markup. */
export function autolink(text: string): Piece[] {
  const pieces: Piece[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(URL_PATTERN)) {
    const url = trimUrl(found)
    if (!isUrl(url)) continue
    if (index > end) pieces.push(text.slice(end, index))
    pieces.push({ url })
    end = index + url.length
  }
  if (end < text.length) pieces.push(text.slice(end))
  return pieces
}

// A quote, a bracket or a space ends it, also where a browser would read on: mails put addresses between them.
const URL_PATTERN = /\bhttps?:\/\/[^\s<>"'`\p{Cc}\p{Cf}]{1,4000}/giu
const CLOSERS = { ')': '(', ']': '[', '}': '{' } as const
const PUNCTUATION = /[.,;:!?*_~|\\。、，！？]/

/** Without the punctuation of the sentence around it; a bracket stays when it was opened inside. */
function trimUrl(found: string): string {
  // Counted once: an end of nothing but brackets must not be read anew for each of them.
  const counts: Record<string, number> = {}
  for (const letter of found) counts[letter] = (counts[letter] ?? 0) + 1
  let end = found.length
  for (; end > 0; end -= 1) {
    const last = found.charAt(end - 1)
    const opener = CLOSERS[last as keyof typeof CLOSERS]
    const closers = counts[last] ?? 0
    if (opener ? closers <= (counts[opener] ?? 0) : !PUNCTUATION.test(last)) break
    counts[last] = closers - 1
  }
  return found.slice(0, end)
}

function isUrl(url: string): boolean {
  try {
    return new URL(url).hostname !== ''
  } catch {
    return false
  }
}
