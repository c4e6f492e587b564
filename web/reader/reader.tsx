import type { Summary } from '../site/shapes.ts'

export interface ReaderProps {
  token: string
  summary: Summary
  /** Back to the list, where that is another pane. */
  onBack(): void
  /** To the newer or older neighbour; undefined where there is none. */
  onNewer: (() => void) | undefined
  onOlder: (() => void) | undefined
  onDelete(): void
}

/** One message, opened. */
export function Reader({ summary }: ReaderProps) {
  return <article>{summary.subject}</article>
}
