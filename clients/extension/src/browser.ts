// The part of the WebExtension API that we use.

interface Event<Listener> {
  addListener(listener: Listener): void
}

export interface Tab {
  id?: number
  /** Only where we may read the page. */
  url?: string
}

export interface Sender {
  tab?: Tab
  frameId?: number
  url?: string
}

interface StorageArea {
  get(names: string[]): Promise<Record<string, unknown>>
  set(values: Record<string, unknown>): Promise<void>
  /** Chromium only. */
  setAccessLevel?(level: { accessLevel: 'TRUSTED_CONTEXTS' }): Promise<void>
}

interface Origins {
  origins: string[]
}

interface ContentScript {
  id: string
  matches: string[]
  js: string[]
  runAt: 'document_idle'
}

interface WebExtension {
  action: {
    setBadgeText(badge: { text: string }): Promise<void>
    setBadgeBackgroundColor(badge: { color: string }): Promise<void>
  }
  alarms: {
    create(name: string, at: { when: number }): Promise<void>
    clear(name: string): Promise<boolean>
    onAlarm: Event<() => void>
  }
  commands: { onCommand: Event<(command: string, tab?: Tab) => void> }
  contextMenus: {
    create(item: { id: string; title: string; contexts: string[] }): void
    removeAll(): Promise<void>
    onClicked: Event<(info: { frameId?: number; frameUrl?: string }, tab?: Tab) => void>
  }
  /** Chromium only; in Firefox, elements have a property of this name. */
  dom?: { openOrClosedShadowRoot(element: Element): ShadowRoot | null }
  i18n: { getMessage(name: string, values?: string[]): string }
  permissions: {
    contains(origins: Origins): Promise<boolean>
    getAll(): Promise<Partial<Origins>>
    request(origins: Origins): Promise<boolean>
    remove(origins: Origins): Promise<boolean>
    onAdded: Event<(added: Partial<Origins>) => void>
    onRemoved: Event<() => void>
  }
  runtime: {
    getURL(path: string): string
    openOptionsPage(): Promise<void>
    sendMessage(message: object): Promise<unknown>
    onInstalled: Event<() => void>
    onStartup: Event<() => void>
    onMessage: Event<
      (message: unknown, sender: Sender, respond: (response: unknown) => void) => boolean
    >
  }
  scripting: {
    executeScript(script: {
      target: { tabId: number; frameIds: number[] }
      files: string[]
    }): Promise<unknown>
    getRegisteredContentScripts(): Promise<ContentScript[]>
    registerContentScripts(scripts: ContentScript[]): Promise<void>
    unregisterContentScripts(): Promise<void>
  }
  storage: {
    local: StorageArea
    session: StorageArea
    onChanged: Event<(changes: Record<string, unknown>) => void>
  }
  tabs: {
    create(tab: { url: string }): Promise<Tab>
    get(id: number): Promise<Tab>
    query(filter: { active?: boolean; currentWindow?: boolean }): Promise<Tab[]>
    sendMessage(id: number, message: object, frame: { frameId: number }): Promise<unknown>
  }
}

// Firefox has it under this name too. `browser` is an element in pages that have one with this id.
declare const chrome: WebExtension
export const browser = chrome
