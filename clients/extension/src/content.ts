import { browser } from './browser.ts'
import {
  fillCode,
  fillEmail,
  findCodeInputs,
  findEmailInput,
  focusedInput,
  isEmailInput,
} from './dom.ts'
import type { ContentCommand, Offer, Offered } from './messages.ts'
import { type Action, type Panel, showBox, showButton } from './panel.ts'
import { sendRequest } from './send-request.ts'
import { senderText, t } from './texts.ts'
import { siteOf } from './urls.ts'

// Runs in a page: in the sites that the person allowed, elsewhere after a click on the extension.

/** Frames without a URL of their own have the origin of their page. */
const site = siteOf(location.href) ?? siteOf(window.origin)
/** Where the address that is being created belongs: by then, something else may have the focus. */
let field: FoundField | undefined
let isAllowed = false
let offer: Offer | undefined
/** The button, or the box of the offer. */
let shown: Panel | undefined
/** Until it is closed, the offer is not shown again; a newer one is. */
let note: Panel | undefined
let timer: ReturnType<typeof setInterval> | undefined
/** While the address that the button was clicked for is being created. */
let isFilling = false

/** As it was when it was found. */
interface FoundField {
  input: HTMLInputElement
  value: string
  type: string
}

const FOLLOW_MS = 500
const OFFERED_MS = 10 * 60_000

function start(): void {
  document.addEventListener('focusin', showAtFocus)
  // The next element has the focus only later, if any.
  document.addEventListener('focusout', () => setTimeout(showAtFocus))
  // The button must not cover what is typed.
  document.addEventListener('input', showAtFocus)
  browser.runtime.onMessage.addListener((message, _sender, respond) => {
    respond(run(message as ContentCommand))
    return false
  })
  if (window !== top) return
  // From the cache of the browser: commands did not reach it there.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) void loadState()
  })
  // A page that is loaded in advance is not in its tab yet.
  if ('prerendering' in document && document.prerendering) {
    document.addEventListener('prerenderingchange', () => void loadState(), { once: true })
  } else void loadState()
}

async function loadState(): Promise<void> {
  const before = offer
  const state = await sendRequest('page-state', {}).catch(() => undefined)
  if (!state) return
  isAllowed = state.isAllowed
  if (state.offer) makeOffer(state.offer)
  // Another one may have come meanwhile.
  else if (before && offer === before) endOffer()
  showAtFocus()
}

function run(command: ContentCommand): boolean {
  if ('site' in command && command.site !== site) return false
  if (command.type === 'reload-state') void loadState()
  if (command.type === 'offer') makeOffer(command.offer)
  if (command.type === 'end-offer') endOfferOf(command.id, command.messageId)
  if (command.type === 'note') showNote(command.text)
  if (command.type === 'fill-code') {
    const inputs = findCodeInputs(command.code)
    if (inputs.length > 0) fillCode(inputs, command.code)
    return inputs.length > 0
  }
  if (command.type === 'find') {
    const input = findEmailInput(command.isHere)
    field = input && foundField(input)
    return field !== undefined
  }
  if (command.type !== 'fill') return true
  const other = field?.input.isConnected ? undefined : findEmailInput()
  return fillUnchanged(other ? foundField(other) : field, command.email)
}

function foundField(input: HTMLInputElement): FoundField {
  return { input, value: input.value, type: input.type }
}

/** Unless something was typed there meanwhile, or the page has made it the field for something else. */
function fillUnchanged(found: FoundField | undefined, email: string): boolean {
  if (!found?.input.isConnected) return false
  const { input, value, type } = found
  const isUnchanged = input.value === value && input.type === type
  if (isUnchanged) fillEmail(input, email)
  return isUnchanged
}

/** Unless a newer message has been offered meanwhile. */
function endOfferOf(id: string, messageId = offer?.messageId): void {
  if (offer?.id === id && offer.messageId === messageId) endOffer()
}

function showNote(text: string): void {
  note = showBox('note', focusedInput(), [text], [])
}

/** The button, while an empty e-mail field has the focus. */
function showAtFocus(): void {
  const focused = focusedInput()
  // A window that gets the focus back fires events, too.
  const hasNote = note?.isOpen() && note.anchor === focused
  if (offer || isFilling || hasNote) return
  const isEmpty = isAllowed && focused?.value === ''
  const input = isEmpty && isEmailInput(focused) ? focused : undefined
  if (input && shown?.anchor === input && shown.isOpen()) return
  shown?.close()
  shown = input && showButton(input, t('fill_new'), () => void fillNew(input))
}

async function fillNew(input: HTMLInputElement): Promise<void> {
  shown?.close()
  isFilling = true
  const found = foundField(input)
  try {
    const email = await sendRequest('new-address', {})
    if (!fillUnchanged(found, email)) showNote(t('address_created', email))
  } catch (error) {
    showNote((error as Error).message)
  } finally {
    isFilling = false
  }
}

/** Until it is used: the field for the code may come later than the code. */
function makeOffer(next: Offer): void {
  if (offer?.id === next.id && offer.messageId === next.messageId) return
  endOffer()
  note?.close()
  offer = next
  const end = Date.now() + OFFERED_MS
  const follow = () => {
    if (Date.now() >= end) endOffer()
    else if (!document.hidden) showOffer()
  }
  timer = setInterval(follow, FOLLOW_MS)
  follow()
}

function endOffer(): void {
  clearInterval(timer)
  offer = undefined
  shown?.close()
}

function showOffer(): void {
  if (!offer) return
  const { id, messageId, code, link, sender, badge } = offer
  const inputs = code === null ? [] : findCodeInputs(code)
  const isShown = shown?.isOpen() && shown.anchor === inputs[0]
  if (isShown || note?.isOpen()) return
  const end = (request: 'used' | 'open-link') => {
    endOffer()
    sendRequest(request, { id, messageId }).catch((error: Error) => showNote(error.message))
  }
  const fill = () => {
    if (code !== null) fillCode(inputs, code)
    end('used')
  }
  const actions: Action[] = []
  if (inputs.length > 0) {
    actions.push({ text: t('fill_code', code ?? ''), isPrimary: true, run: fill })
  }
  if (code !== null) {
    actions.push({ text: t('site_copy'), run: () => void copy(code, { id, messageId }) })
  }
  if (link) actions.push({ text: t('open_link', link.host), run: () => end('open-link') })
  // The button for filling it in has the code, too.
  const title = code === null ? t('reader_link_verify') : `${t('reader_code')}: ${code}`
  const lines = [...(inputs.length > 0 ? [] : [title]), senderText(sender, badge)]
  shown = showBox('code', inputs[0], lines, actions, () => end('used'))
}

async function copy(code: string, offered: Offered): Promise<void> {
  try {
    await navigator.clipboard.writeText(code)
    endOffer()
    showNote(t('site_copied'))
    sendRequest('used', offered).catch(() => undefined)
  } catch {
    // Pages without TLS have no clipboard; the code is there to read.
    showNote(t('inbox_code_marked', code))
  }
}

// It is injected again where it may run already. An element of the page with this id is not an own property.
const RUNNING = 'mayflyIsRunning'
if (!Object.hasOwn(globalThis, RUNNING)) {
  Object.defineProperty(globalThis, RUNNING, { value: true })
  start()
}
