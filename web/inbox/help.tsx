import { Dialog } from '../site/dialog.tsx'
import { say } from '../site/words.ts'
import { KEYS, showsHelp } from './keys.ts'

const WORDS = {
  j: 'next',
  k: 'former',
  Enter: 'open',
  u: 'back',
  '#': 'delete',
  r: 'refresh',
  n: 'new',
  c: 'copy',
  '/': 'search',
  '?': 'help',
  Escape: 'out',
} as const satisfies Record<keyof typeof KEYS, string>

/** What each key does. */
export function Help() {
  if (!showsHelp.value) return null
  return (
    <Dialog
      title={say('inbox_keys')}
      onClose={() => {
        showsHelp.value = false
      }}
    >
      <dl class="keys">
        {(Object.keys(KEYS) as (keyof typeof KEYS)[]).map((key) => (
          <div key={key}>
            <dt>
              <kbd>{key === 'Escape' ? 'Esc' : key}</kbd>
            </dt>
            <dd>{say(`inbox_key_${WORDS[key]}`)}</dd>
          </div>
        ))}
      </dl>
      <p class="soft">{say('inbox_keys_off')}</p>
    </Dialog>
  )
}
