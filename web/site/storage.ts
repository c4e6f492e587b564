/** What this browser keeps for this site; nothing where it does not let us. Never the text of a mail. */
export const localStore = {
  get(name: string): string | undefined {
    try {
      return localStorage.getItem(`mayfly ${name}`) ?? undefined
    } catch {
      return undefined
    }
  },
  /** The names that begin so, of whatever is kept. */
  keys(prefix: string): string[] {
    try {
      return Object.keys(localStorage)
        .filter((key) => key.startsWith(`mayfly ${prefix}`))
        .map((key) => key.slice('mayfly '.length))
    } catch {
      return []
    }
  },
  /** False when the browser refuses: then it is forgotten with the page. */
  set(name: string, value: string | undefined): boolean {
    try {
      if (value === undefined) localStorage.removeItem(`mayfly ${name}`)
      else localStorage.setItem(`mayfly ${name}`, value)
      return true
    } catch {
      return false
    }
  },
}

/** What is kept until this tab is closed: secrets that the reader gave, and that no other visit is to find. */
export const tabStore = {
  get(name: string): string | undefined {
    return memory.get(name) ?? readSessionStorage(name)
  },
  /** False when the browser refuses: then it is forgotten with the page. */
  set(name: string, value: string | undefined): boolean {
    if (value === undefined) memory.delete(name)
    else memory.set(name, value)
    try {
      if (value === undefined) sessionStorage.removeItem(`mayfly ${name}`)
      else sessionStorage.setItem(`mayfly ${name}`, value)
      return true
    } catch {
      return false
    }
  },
}

const memory = new Map<string, string>()

function readSessionStorage(name: string): string | undefined {
  try {
    return sessionStorage.getItem(`mayfly ${name}`) ?? undefined
  } catch {
    return undefined
  }
}
