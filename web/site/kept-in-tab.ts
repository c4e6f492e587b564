/** What is kept until this tab is closed: secrets that the reader gave, and that no other visit is to find. */
export const keptInTab = {
  find(name: string): string | undefined {
    return held.get(name) ?? stored(name)
  },
  /** False when the browser refuses: then it is forgotten with the page. */
  keep(name: string, value: string | undefined): boolean {
    if (value === undefined) held.delete(name)
    else held.set(name, value)
    try {
      if (value === undefined) sessionStorage.removeItem(`mayfly ${name}`)
      else sessionStorage.setItem(`mayfly ${name}`, value)
      return true
    } catch {
      return false
    }
  },
}

const held = new Map<string, string>()

function stored(name: string): string | undefined {
  try {
    return sessionStorage.getItem(`mayfly ${name}`) ?? undefined
  } catch {
    return undefined
  }
}
