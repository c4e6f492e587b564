import type { ComponentChildren } from 'preact'
import { facts } from './facts.ts'
import { chooseTheme, THEMES, theme } from './theme.ts'
import { chooseLanguage, isLanguage, LANGUAGES, language, say } from './words.ts'

interface FrameProps {
  /** Which of the places in the navigation this is. */
  at?: 'inbox' | 'plans' | 'key' | 'docs' | undefined
  children: ComponentChildren
}

/** What stands around every page. */
export function Frame({ at, children }: FrameProps) {
  return (
    <>
      <Top at={at} />
      <main id="main">{children}</main>
      <Foot />
    </>
  )
}

const PLACES = [
  ['inbox', '/', 'site_inbox'],
  ['plans', '/pricing', 'site_plans'],
  ['key', '/key', 'site_key'],
  ['docs', '/docs', 'site_docs'],
] as const

export function Top({ at }: Pick<FrameProps, 'at'>) {
  return (
    <header class="top">
      <a class="mark" href="/">
        Mayfly
      </a>
      <nav aria-label={say('site_nav')}>
        {PLACES.map(([place, path, name]) => (
          <a key={place} href={path} aria-current={place === at ? 'page' : undefined}>
            {say(name)}
          </a>
        ))}
      </nav>
    </header>
  )
}

export function Foot() {
  return (
    <footer class="foot">
      <label>
        <span>{say('site_theme')}</span>{' '}
        <select
          value={theme.value}
          onChange={({ currentTarget }) => {
            chooseTheme(THEMES.find((one) => one === currentTarget.value) ?? 'auto')
          }}
        >
          {THEMES.map((one) => (
            <option key={one} value={one}>
              {say(`site_theme_${one}`)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{say('site_language')}</span>{' '}
        <select value={language.value} onChange={({ currentTarget }) => void choose(currentTarget)}>
          {Object.entries(LANGUAGES).map(([code, name]) => (
            <option key={code} value={code} lang={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {facts.abuse && <a href={`mailto:${facts.abuse}`}>{say('site_abuse')}</a>}
    </footer>
  )
}

/** What is shown is what is so: the words may not have come. */
async function choose(box: HTMLSelectElement): Promise<void> {
  if (isLanguage(box.value)) await chooseLanguage(box.value)
  box.value = language.value
}
