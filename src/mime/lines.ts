const MAX_BREAKS = 3

/** Text that is written word by word, in lines that are indented and set apart. */
export function openLines() {
  let text = ''
  let breaks = 0
  let isSpaced = false
  let indentation = ''
  // What the next line starts with, if not with the indentation alone.
  let lead: string | undefined
  // The smallest indentation since the last text: that of blank lines.
  let between = ''

  function startLine(): void {
    if (text !== '') text += '\n'
    for (let at = 1; at < breaks && text !== ''; at += 1) text += `${between.trimEnd()}\n`
    text += lead ?? indentation
    lead = undefined
    between = indentation
    breaks = 0
  }

  return {
    text: () => text,
    length: () => text.length,
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
      isSpaced = false
    },
    /** At least this many line breaks before the next text. */
    setApart(count: number): void {
      if (count === 0) return
      breaks = Math.max(breaks, count)
      isSpaced = false
    },
    /** Starts the next line with a marker and indents those after it, until the returned function is called. */
    indent(marker: string, following: string): () => void {
      const outer = { indentation, lead }
      lead = (lead ?? indentation) + marker
      indentation += following
      return () => {
        // Nothing has been written since.
        if (lead !== undefined) lead = outer.lead
        indentation = outer.indentation
        if (indentation.length < between.length) between = indentation
      }
    },
  }
}
