// Runs before the first paint, so that nobody who asked for the dark is shown the light for a moment. No imports: it is
// loaded as a plain script.
{
  const root = document.documentElement
  const kept = (name: string): string | null => {
    try {
      return localStorage.getItem(name)
    } catch {
      // A browser that keeps nothing for this site.
      return null
    }
  }
  const theme = kept('mayfly theme')
  if (theme === 'light' || theme === 'dark') root.dataset['theme'] = theme
  // A page without a script of its own stays as the server wrote it.
  const language = 'scripted' in root.dataset ? kept('mayfly language') : null
  if (language) {
    root.lang = language
    root.dir = language === 'ar' ? 'rtl' : 'ltr'
  }
}
