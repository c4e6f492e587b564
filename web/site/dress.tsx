import { type ComponentChild, render } from 'preact'
import { Foot, Top } from './frame.tsx'
import { openWords } from './words.ts'

/** A page that the server wrote whole: only what stands around it is put in place of what was written. */
export async function dressPage(at: 'plans' | 'docs'): Promise<void> {
  await openWords()
  swap('header.top', <Top at={at} />)
  swap('footer.foot', <Foot />)
}

function swap(written: string, piece: ComponentChild): void {
  const place = document.createElement('div')
  place.style.display = 'contents'
  render(piece, place)
  document.querySelector(written)?.replaceWith(place)
}
