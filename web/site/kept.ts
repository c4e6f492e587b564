/** What this browser keeps for this site; nothing where it does not let us. Never the text of a mail. */
export const kept = {
  find(name: string): string | undefined {
    try {
      return localStorage.getItem(`mayfly ${name}`) ?? undefined
    } catch {
      return undefined
    }
  },
  /** The names that begin so, of whatever is kept. */
  names(prefix: string): string[] {
    try {
      return Object.keys(localStorage)
        .filter((key) => key.startsWith(`mayfly ${prefix}`))
        .map((key) => key.slice('mayfly '.length))
    } catch {
      return []
    }
  },
  /** False when the browser refuses: then it is forgotten with the page. */
  keep(name: string, value: string | undefined): boolean {
    try {
      if (value === undefined) localStorage.removeItem(`mayfly ${name}`)
      else localStorage.setItem(`mayfly ${name}`, value)
      return true
    } catch {
      return false
    }
  },
}
