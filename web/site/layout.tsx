import { effect, signal } from '@preact/signals'
import { type ComponentChild, type ComponentChildren, render } from 'preact'
import {
  type Catalogue,
  isLanguage,
  LANGUAGES,
  language,
  loadLanguage,
  setLanguage,
  t,
} from './i18n.ts'
import { siteConfig } from './site-config.ts'
import { localStore } from './storage.ts'

/** Puts a page in place of what the server wrote for those without scripts, once its words are there. */
export async function mountPage(page: () => ComponentChild): Promise<void> {
  const place = document.getElementById('app')
  if (!place) throw new Error('the page has no place for the app')
  await loadLanguage()
  place.replaceChildren()
  render(page(), place)
}

/** A page that the server wrote whole: only what stands around it is put in place of what was written. */
export async function enhancePage(at: 'plans' | 'docs'): Promise<void> {
  await loadLanguage()
  replaceElement('header.top', <SiteHeader at={at} />)
  replaceElement('footer.foot', <SiteFooter />)
}

function replaceElement(written: string, piece: ComponentChild): void {
  const place = document.createElement('div')
  place.style.display = 'contents'
  render(piece, place)
  document.querySelector(written)?.replaceWith(place)
}

/** Names the page in the reader's language, also when that changes. */
export function setTitle(name: keyof Catalogue): void {
  effect(() => {
    document.title = `${t(name)} – Mayfly`
  })
}

interface LayoutProps {
  /** Which of the places in the navigation this is. */
  at?: 'inbox' | 'plans' | 'key' | 'docs' | undefined
  children: ComponentChildren
}

/** What stands around every page. */
export function Layout({ at, children }: LayoutProps) {
  return (
    <>
      <SiteHeader at={at} />
      <main id="main">{children}</main>
      <SiteFooter />
    </>
  )
}

const NAVIGATION = [
  ['inbox', '/', 'site_inbox'],
  ['plans', '/pricing', 'site_plans'],
  ['key', '/key', 'site_key'],
  ['docs', '/docs', 'site_docs'],
] as const

export function SiteHeader({ at }: Pick<LayoutProps, 'at'>) {
  return (
    <header class="top">
      <a class="mark" href="/">
        Mayfly
      </a>
      <nav aria-label={t('site_nav')}>
        {NAVIGATION.map(([place, path, name]) => (
          <a key={place} href={path} aria-current={place === at ? 'page' : undefined}>
            {t(name)}
          </a>
        ))}
      </nav>
    </header>
  )
}

export function SiteFooter() {
  return (
    <footer class="foot">
      <label>
        <span>{t('site_theme')}</span>{' '}
        <select
          value={theme.value}
          onChange={({ currentTarget }) => {
            setTheme(THEMES.find((one) => one === currentTarget.value) ?? 'auto')
          }}
        >
          {THEMES.map((one) => (
            <option key={one} value={one}>
              {t(`site_theme_${one}`)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{t('site_language')}</span>{' '}
        <select
          value={language.value}
          onChange={({ currentTarget }) => void onLanguageChange(currentTarget)}
        >
          {Object.entries(LANGUAGES).map(([code, name]) => (
            <option key={code} value={code} lang={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {siteConfig.abuse && <a href={`mailto:${siteConfig.abuse}`}>{t('site_abuse')}</a>}
    </footer>
  )
}

/** What is shown is what is so: the words may not have come. */
async function onLanguageChange(box: HTMLSelectElement): Promise<void> {
  if (isLanguage(box.value)) await setLanguage(box.value)
  box.value = language.value
}

export const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const storedTheme = localStore.get('theme')

/** Light, dark, or as the device has it. early.ts applies the same before the first paint. */
export const theme = signal<Theme>(THEMES.find((one) => one === storedTheme) ?? 'auto')

effect(() => {
  const { dataset } = document.documentElement
  if (theme.value === 'auto') delete dataset['theme']
  else dataset['theme'] = theme.value
})

export function setTheme(chosen: Theme): void {
  theme.value = chosen
  localStore.set('theme', chosen === 'auto' ? undefined : chosen)
}
