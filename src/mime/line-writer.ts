const MAX_BREAKS = 3
/** Lines are not indented further: a mail may have a hundred thousand levels. */
const MAX_INDENTATION = 1_000

/** Writes words into lines, which can be indented and set apart by blank lines. */
export function lineWriter() {
  let text = ''
  let breaks = 0
  let isSpaced = false
  let indentation = ''
  /** What the next line starts with, if it has a marker. */
  let firstIndentation: string | undefined
  /** The smallest indentation since the last text, for blank lines. */
  let blankIndentation = ''

  function startLine(): void {
    if (text !== '') {
      text += '\n'
      for (let at = 1; at < breaks; at += 1) text += `${blankIndentation.trimEnd()}\n`
    }
    text += firstIndentation ?? indentation
    firstIndentation = undefined
    blankIndentation = indentation
    breaks = 0
  }

  return {
    text: () => text,
    length: () => text.length,
    /** Whether nothing separates the next part from the last one. */
    isJoined: () => text !== '' && breaks === 0 && !isSpaced,
    /** Appends a part of a line. */
    write(part: string): void {
      if (text === '' || breaks > 0) startLine()
      else if (isSpaced) text += ' '
      text += part
      isSpaced = false
    },
    /** Appends to the line that was written last, whatever came after it. */
    append(part: string): void {
      text += part
    },
    space(): void {
      isSpaced = true
    },
    breakLine(): void {
      breaks = Math.min(MAX_BREAKS, breaks + 1)
    },
    /** At least this many line breaks before the next text. */
    setApart(count: number): void {
      breaks = Math.max(breaks, count)
    },
    /** Starts the next line with a marker and indents those after it, until the returned function is called. */
    indent(marker: string, following: string): () => void {
      if (indentation.length > MAX_INDENTATION) return keepIndentation
      const outer = { indentation, firstIndentation }
      firstIndentation = (firstIndentation ?? indentation) + marker
      indentation += following
      return () => {
        // Nothing has been written since.
        if (firstIndentation !== undefined) firstIndentation = outer.firstIndentation
        indentation = outer.indentation
        if (indentation.length < blankIndentation.length) blankIndentation = indentation
      }
    },
  }
}

function keepIndentation(): void {}
