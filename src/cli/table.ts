/** Columns as wide as they need; a cell that holds several lines makes its row as high. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const split = rows.map((row) => row.map((cell) => cell.split('\n')))
  const widths: number[] = []
  for (const row of split) {
    row.forEach((lines, column) => {
      widths[column] = Math.max(widths[column] ?? 0, ...lines.map(({ length }) => length))
    })
  }
  return split.flatMap((row) => {
    const height = Math.max(...row.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) =>
      row
        .map((lines, column) => (lines[line] ?? '').padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  })
}

/** Breaks a list after its commas, so that no line is wider than it must be. */
export function wrapList(text: string, width: number): string {
  const lines: string[] = []
  for (const part of text.split(/(?<=,)/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + part.length <= width) lines.push(lines.pop() + part)
    else lines.push(part)
  }
  return lines.join('\n')
}
