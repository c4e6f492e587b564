import type { ComponentChildren } from 'preact'
import { Glyph } from '../site/glyphs.tsx'
import { say } from '../site/words.ts'
import { chooseNotes, chooseSound, notesOn, notesRefused, soundOn } from './alerts.ts'
import { chooseKeys, keysOn, showsHelp } from './keys.ts'

/** What this browser does when mail comes, and whether letters are commands. */
export function Settings() {
  return (
    <details class="settings">
      <summary>
        <Glyph name="gear" />
        {say('inbox_settings')}
      </summary>
      <div class="settings-inside">
        <Switch on={soundOn.value} onChoose={chooseSound}>
          {say('inbox_sound')}
        </Switch>
        <Switch on={notesOn.value} onChoose={(on) => void chooseNotes(on)}>
          {say('inbox_notes')}
        </Switch>
        <p class="soft" role="status">
          {notesRefused.value && say('inbox_notes_refused')}
        </p>
        <Switch on={keysOn.value} onChoose={chooseKeys}>
          {say('inbox_keys')}
        </Switch>
        <button
          type="button"
          class="plain small"
          onClick={() => {
            showsHelp.value = true
          }}
        >
          {say('inbox_keys_show')}
        </button>
      </div>
    </details>
  )
}

interface SwitchProps {
  on: boolean
  onChoose(on: boolean): void
  children: ComponentChildren
}

function Switch({ on, onChoose, children }: SwitchProps) {
  return (
    <label class="settings-switch">
      <input
        type="checkbox"
        checked={on}
        onChange={({ currentTarget }) => {
          onChoose(currentTarget.checked)
          // What is shown is what is so: the browser may not have allowed it.
          currentTarget.checked = on
        }}
      />
      {children}
    </label>
  )
}
