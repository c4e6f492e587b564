// Lets the inbox open without a connection. With one, the page always comes from the server, so a new build is used at once.
// A classic script: no imports.
{
  interface WorkerEvent extends Event {
    waitUntil(work: Promise<unknown>): void
  }
  interface FetchEvent extends WorkerEvent {
    readonly request: Request
    respondWith(response: Promise<Response>): void
  }
  interface NotificationEvent extends WorkerEvent {
    readonly notification: Notification
  }
  interface WorkerEvents {
    install: WorkerEvent
    activate: WorkerEvent
    fetch: FetchEvent
    message: WorkerEvent & MessageEvent
    notificationclick: NotificationEvent
  }
  interface WorkerScope {
    addEventListener<Name extends keyof WorkerEvents>(
      name: Name,
      listener: (event: WorkerEvents[Name]) => void,
    ): void
    skipWaiting(): Promise<void>
    clients: {
      claim(): Promise<void>
      matchAll(options: { type: 'window' }): Promise<{ url: string; focus(): Promise<unknown> }[]>
      openWindow(url: string): Promise<unknown>
    }
  }
  const worker = self as unknown as WorkerScope

  // Holds no mail.
  const CACHE = 'mayfly page'
  const PAGE = '/'

  worker.addEventListener('install', (event) => event.waitUntil(worker.skipWaiting()))
  worker.addEventListener('activate', (event) => event.waitUntil(worker.clients.claim()))

  worker.addEventListener('fetch', (event) => {
    const { request } = event
    const { origin, pathname } = new URL(request.url)
    if (origin !== location.origin || request.method !== 'GET') return
    if (request.mode === 'navigate' && pathname === PAGE) event.respondWith(servePage(request))
    else if (pathname.startsWith('/assets/')) event.respondWith(serveAsset(request))
  })

  const servePage = async (request: Request): Promise<Response> => {
    try {
      const response = await fetch(request)
      if (response.ok) await keepPage(response.clone())
      // A proxy responds for a server that is down.
      return response.status < 500 ? response : ((await stored(PAGE)) ?? response)
    } catch (error) {
      const page = await stored(PAGE)
      if (page) return page
      throw error
    }
  }

  /** File names contain a hash of the content. */
  const serveAsset = async (request: Request): Promise<Response> =>
    (await stored(request)) ?? (await fetch(request))

  // The browser may refuse storage, or have no room: then the page is only online.

  const stored = async (what: Request | string): Promise<Response | undefined> => {
    try {
      return await (await caches.open(CACHE)).match(what, { ignoreVary: true })
    } catch {
      return undefined
    }
  }

  const keepPage = async (response: Response): Promise<void> => {
    try {
      await (await caches.open(CACHE)).put(PAGE, response)
    } catch {}
  }

  /** The page tells what it has loaded, the script that it started with first. */
  worker.addEventListener('message', (event) => {
    const urls: unknown = event.data
    if (!Array.isArray(urls)) return
    storing = storing.then(() => store(urls.map(String))).catch(() => undefined)
    event.waitUntil(storing)
  })

  /** One after the other: each removes the files of an older build. */
  let storing: Promise<void> = Promise.resolve()

  const store = async (urls: readonly string[]): Promise<void> => {
    const cache = await caches.open(CACHE)
    const has = async (url: string) => (await cache.match(url, { ignoreVary: true })) !== undefined
    const [script = ''] = urls
    // Of an older build.
    if (!(await has(script))) {
      for (const { url } of await cache.keys()) {
        if (new URL(url).pathname.startsWith('/assets/')) await cache.delete(url)
      }
    }
    for (const url of urls) if (!(await has(url))) await cache.add(url)
    if (!(await has(PAGE))) await cache.add(PAGE)
  }

  worker.addEventListener('notificationclick', (event) => {
    event.notification.close()
    const show = async () => {
      const windows = await worker.clients.matchAll({ type: 'window' })
      const page = windows.find(({ url }) => new URL(url).pathname === PAGE)
      await (page ? page.focus() : worker.clients.openWindow(PAGE))
    }
    event.waitUntil(show())
  })
}
