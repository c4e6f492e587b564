import { type ComponentChild, render } from 'preact'
import { openWords } from './words.ts'

/** Puts a page in place of what the server wrote for those without scripts, once its words are there. */
export async function openPage(page: () => ComponentChild): Promise<void> {
  const place = document.getElementById('app')
  if (!place) throw new Error('the page has no place for the app')
  await openWords()
  place.replaceChildren()
  render(page(), place)
}
