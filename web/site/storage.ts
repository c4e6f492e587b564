const PREFIX = 'mayfly '

/** `area` throws where the browser blocks storage for this site. */
function openStore(area: () => Storage) {
  return {
    get(name: string): string | undefined {
      try {
        return area().getItem(`${PREFIX}${name}`) ?? undefined
      } catch {
        return undefined
      }
    },
    /** False if the browser refuses. Undefined removes the entry. */
    set(name: string, value: string | undefined): boolean {
      try {
        if (value === undefined) area().removeItem(`${PREFIX}${name}`)
        else area().setItem(`${PREFIX}${name}`, value)
        return true
      } catch {
        return false
      }
    },
    /** Names with this prefix. */
    keys(prefix: string): string[] {
      try {
        return Object.keys(area())
          .filter((key) => key.startsWith(`${PREFIX}${prefix}`))
          .map((key) => key.slice(PREFIX.length))
      } catch {
        return []
      }
    },
  }
}

/** What was stored as JSON; undefined if it is anything else. */
export function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}

/** Never holds the content of a mail. */
export const localStore = openStore(() => localStorage)

const sessionStore = openStore(() => sessionStorage)
const memory = new Map<string, string>()

/** Until this tab is closed, for secrets that the user entered. Works without sessionStorage until the page is left. */
export const tabStore = {
  get(name: string): string | undefined {
    return memory.get(name) ?? sessionStore.get(name)
  },
  /** False if the browser refuses: then it is lost with the page. */
  set(name: string, value: string | undefined): boolean {
    if (value === undefined) memory.delete(name)
    else memory.set(name, value)
    return sessionStore.set(name, value)
  },
}
