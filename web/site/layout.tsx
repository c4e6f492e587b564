import { effect, signal } from '@preact/signals'
import { type ComponentChild, type ComponentChildren, render } from 'preact'
import { isLanguage, LANGUAGES, textDirection } from '../../src/shared/languages.ts'
import { type NavigationItem, navigation } from '../../src/shared/site.ts'
import type { Catalogue } from '../../src/shared/translate.ts'
import { language, loadLanguage, setLanguage, t } from './i18n.ts'
import { siteConfig } from './site-config.ts'
import { localStore } from './storage.ts'

/** Replaces the no-script content of the server once the texts are loaded. */
export async function mountPage(page: () => ComponentChild): Promise<void> {
  const root = document.getElementById('app')
  if (!root) throw new Error('the page has no #app element')
  await loadLanguage()
  effect(setDocumentLanguage)
  root.replaceChildren()
  render(page(), root)
}

/** For a page rendered by the server: replaces only its header and footer. */
export async function enhancePage(section: 'plans' | 'docs'): Promise<void> {
  await loadLanguage()
  effect(setDocumentLanguage)
  replaceElement('header.top', <SiteHeader section={section} />)
  replaceElement('footer.foot', <SiteFooter />)
}

/** The server has set one, which may not be what the user chose. */
function setDocumentLanguage(): void {
  document.documentElement.lang = language.value
  document.documentElement.dir = textDirection(language.value)
}

function replaceElement(selector: string, content: ComponentChild): void {
  const container = document.createElement('div')
  container.style.display = 'contents'
  render(content, container)
  document.querySelector(selector)?.replaceWith(container)
}

/** Follows a change of the language. */
export function setTitle(name: keyof Catalogue): void {
  effect(() => {
    // Until the texts are loaded, the title is that of the server.
    if (t(name)) document.title = `${t(name)} – Mayfly`
  })
}

interface LayoutProps {
  /** Current entry of the navigation. */
  section?: NavigationItem | undefined
  children: ComponentChildren
}

export function Layout({ section, children }: LayoutProps) {
  return (
    <>
      <SiteHeader section={section} />
      <main id="main">{children}</main>
      <SiteFooter />
    </>
  )
}

function SiteHeader({ section }: Pick<LayoutProps, 'section'>) {
  return (
    <header class="top">
      <a class="mark" href="/">
        Mayfly
      </a>
      <span class="tagline">{t('site_tagline')}</span>
      <nav aria-label={t('site_nav')}>
        {navigation(siteConfig.shop).map(([name, path, text]) => (
          <a key={name} href={path} aria-current={name === section ? 'page' : undefined}>
            {t(text)}
          </a>
        ))}
      </nav>
    </header>
  )
}

function SiteFooter() {
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

/** If the texts cannot be loaded, the old language stays selected. */
async function onLanguageChange(select: HTMLSelectElement): Promise<void> {
  if (isLanguage(select.value)) await setLanguage(select.value)
  select.value = language.value
}

const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const storedTheme = localStore.get('theme')

/** before-paint.ts applies the same before the first paint. */
export const theme = signal<Theme>(THEMES.find((one) => one === storedTheme) ?? 'auto')

effect(() => {
  const { dataset } = document.documentElement
  if (theme.value === 'auto') delete dataset['theme']
  else dataset['theme'] = theme.value
  for (const meta of document.querySelectorAll<HTMLElement>('meta[name="theme-color"]')) {
    meta.setAttribute('media', themeColourMedia(meta.dataset['scheme'], theme.value))
  }
})

/** When the browser applies the theme colour of this scheme. */
function themeColourMedia(scheme: string | undefined, theme: Theme): string {
  if (theme === 'auto') return `(prefers-color-scheme: ${scheme})`
  return theme === scheme ? 'all' : 'not all'
}

function setTheme(chosen: Theme): void {
  theme.value = chosen
  localStore.set('theme', chosen === 'auto' ? undefined : chosen)
}
