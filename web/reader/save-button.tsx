import { useState } from 'preact/hooks'
import { faultWords } from '../site/fault-words.ts'
import { Glyph } from '../site/glyphs.tsx'
import { say } from '../site/words.ts'
import { download } from './download.ts'

interface SaveButtonProps {
  /** Where the API has it. */
  path: string
  token: string
  /** How the file will be called. */
  name: string
  words: string
  class?: string
}

type State = 'ready' | 'saving' | 'saved' | { fault: string }

/** Saves a file, and says how that went. */
export function SaveButton({ path, token, name, words, class: look = 'plain' }: SaveButtonProps) {
  const [state, setState] = useState<State>('ready')
  const save = async () => {
    setState('saving')
    try {
      await download(path, token, name)
      setState('saved')
    } catch (fault) {
      setState({ fault: faultWords(fault) })
    }
  }
  return (
    <>
      <button
        type="button"
        class={look}
        aria-label={`${words}: ${name}`}
        disabled={state === 'saving'}
        onClick={() => void save()}
      >
        <Glyph name="save" />
        <span>{state === 'saving' ? say('reader_file_saving') : words}</span>
      </button>
      <span class={typeof state === 'object' ? 'fault' : 'unseen'} role="status">
        {said(state, name)}
      </span>
    </>
  )
}

function said(state: State, name: string): string {
  if (typeof state === 'object') return state.fault
  return state === 'saved' ? say('reader_file_saved', { name }) : ''
}
