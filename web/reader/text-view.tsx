import { leavePath } from '../site/where.ts'
import { say } from '../site/words.ts'
import { autolink } from './autolink.ts'

// More than anybody reads, and what a page can take.
const MAX_SHOWN = 300_000

/** A mail as plain text, with its addresses as links. */
export function TextView({ text }: { text: string | null }) {
  if (!text?.trim()) return <p class="soft reader-wait">{say('reader_text_empty')}</p>
  return (
    <>
      {text.length > MAX_SHOWN && <p class="notice">{say('reader_text_cut')}</p>}
      <div class="mail-text" dir="auto">
        {autolink(text.slice(0, MAX_SHOWN)).map((piece, at) =>
          typeof piece === 'string' ? (
            piece
          ) : (
            <a key={at} href={leavePath(piece.url)} target="_blank" rel="noopener noreferrer">
              {piece.url}
            </a>
          ),
        )}
      </div>
    </>
  )
}
