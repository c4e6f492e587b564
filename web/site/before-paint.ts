// Runs before the first paint, so that a stored theme does not flash. A classic script: no imports.
{
  const root = document.documentElement
  const stored = (name: string): string | null => {
    try {
      return localStorage.getItem(name)
    } catch {
      // Storage is blocked.
      return null
    }
  }
  const theme = stored('mayfly theme')
  if (theme === 'light' || theme === 'dark') {
    root.dataset['theme'] = theme
    for (const meta of document.querySelectorAll<HTMLElement>('meta[name="theme-color"]')) {
      meta.setAttribute('media', meta.dataset['scheme'] === theme ? 'all' : 'not all')
    }
  }
  // A page without a script of its own keeps the language of the server.
  const language = 'scripted' in root.dataset ? stored('mayfly language') : null
  if (language) {
    root.lang = language
    root.dir = language === 'ar' ? 'rtl' : 'ltr'
  }
}
