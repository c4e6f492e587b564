const MOST_AT_ONCE = 100
// Each takes a connection. A second one, so that a connection that hangs does not keep everybody waiting.
const MOST_UNDER_WAY = 2

interface Question<Key, Found> {
  key: Key
  resolve: (found: Found | undefined) => void
  reject: (error: unknown) => void
}

/**
 * Looks things up together: what is asked for in one turn of the event loop, and while former questions are under way, goes
 * out as one statement. A question is sent after it was asked, so no answer is older than that.
 */
export function batch<Key, Found>(
  find: (keys: readonly Key[]) => Promise<Map<Key, Found>>,
): (key: Key) => Promise<Found | undefined> {
  const asked: Question<Key, Found>[] = []
  let underWay = 0
  let isDue = false

  function send(): void {
    isDue = false
    while (asked.length > 0 && underWay < MOST_UNDER_WAY) void answer(asked.splice(0, MOST_AT_ONCE))
  }

  async function answer(group: readonly Question<Key, Found>[]): Promise<void> {
    underWay += 1
    try {
      const found = await find([...new Set(group.map(({ key }) => key))])
      for (const { key, resolve } of group) resolve(found.get(key))
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    underWay -= 1
    send()
  }

  return (key) =>
    new Promise((resolve, reject) => {
      asked.push({ key, resolve, reject })
      if (isDue) return
      isDue = true
      setImmediate(send)
    })
}
