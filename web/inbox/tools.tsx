import { Glyph } from '../site/glyphs.tsx'
import { say } from '../site/words.ts'
import { allChosen, chosen, tickAll } from './chosen.ts'
import { deleteAll, deleteChosen } from './deeds.ts'
import { focusList, focusRow } from './focus.ts'
import { query, shown } from './mail.ts'

/** Search, selection, and what can be done with what is selected. */
export function Tools() {
  const count = chosen.value.size
  return (
    <div class="tools">
      <Search />
      <div class="tools-row">
        <label class="tools-all">
          <input
            type="checkbox"
            checked={allChosen.value}
            // A property that no attribute can set.
            ref={(box) => {
              if (box) box.indeterminate = count > 0 && !allChosen.value
            }}
            onChange={({ currentTarget }) => tickAll(currentTarget.checked)}
            disabled={shown.value.length === 0}
          />
          {count > 0 ? say('inbox_selected', { count }) : say('inbox_select_all')}
        </label>
        <button
          type="button"
          class="danger small"
          onClick={count > 0 ? deleteChosen : deleteAll}
          disabled={shown.value.length === 0}
        >
          <Glyph name="bin" />
          {count > 0 ? say('inbox_delete') : say('inbox_delete_all')}
        </button>
      </div>
    </div>
  )
}

function Search() {
  const isOn = query.value.trim() !== ''
  return (
    <search class="search">
      <Glyph name="search" />
      <input
        id="search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        aria-label={say('inbox_search')}
        placeholder={say('inbox_search')}
        value={query.value}
        onInput={({ currentTarget }) => {
          query.value = currentTarget.value
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') leaveSearch()
          if (event.key === 'Enter') focusRow(shown.value[0]?.id)
        }}
      />
      <span class={isOn ? 'soft search-count' : 'unseen'} role="status">
        {isOn ? say('inbox_found', { count: shown.value.length }) : ''}
      </span>
    </search>
  )
}

function leaveSearch(): void {
  query.value = ''
  focusList()
}
