import { computed, effect, signal } from '@preact/signals'
import { displaySender } from '../../src/shared/sender-display.ts'
import type { Mailbox } from '../address/mailbox.ts'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import { announceQuietly } from '../site/announce.ts'
import type { MessageSummary } from '../site/api.ts'
import { language, t } from '../site/i18n.ts'
import { withLock } from '../site/lock.ts'
import { localStore } from '../site/storage.ts'
import { arrivalListeners, unreadByAddress, unreadTotal } from './messages.ts'
import { newCode } from './newest.ts'
import { isAllShown } from './rows.ts'

export const soundOn = signal(localStore.get('sound') === 'on')
/** On, off, or why they cannot be on: by the browser's settings, or because it shows none from a page. */
export const notifications = signal<'on' | 'off' | 'blocked' | 'unsupported'>(
  localStore.get('notes') === 'on' && permission() === 'granted' ? 'on' : 'off',
)

export function setSound(on: boolean): void {
  soundOn.value = on
  localStore.set('sound', on ? 'on' : undefined)
  if (on) chime()
}

/** Asks for the browser's permission if need be. */
export async function setNotifications(on: boolean): Promise<void> {
  const isAllowed = on && (await requestPermission()) === 'granted'
  if (isAllowed) notifications.value = (await canNotify()) ? 'on' : 'unsupported'
  else notifications.value = on ? 'blocked' : 'off'
  localStore.set('notes', notifications.value === 'on' ? 'on' : undefined)
}

/** Chrome on Android allows them only by the service worker, which there is not over plain http. */
async function canNotify(): Promise<boolean> {
  try {
    new Notification('Mayfly', { silent: true }).close()
    return true
  } catch {
    return (await serviceWorker()) !== undefined
  }
}

async function serviceWorker(): Promise<ServiceWorkerRegistration | undefined> {
  const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer }
  return await serviceWorker?.getRegistration()
}

// One chime for many messages that arrive together.
const CHIME_INTERVAL_MS = 2_000

export function startNotifications(): void {
  arrivalListeners.add((messages, email) => {
    const isHere = email === currentMailbox.peek()?.email
    if (isHere || isAllShown.peek()) announceQuietly(arrivalText(messages))
    else announceElsewhere(messages, email)
    notify(messages)
    if (soundOn.value) void chimeOnce()
  })
  // Mail is announced before it is parsed: its code may come later.
  effect(() => {
    const message = newCode.value
    if (message && lastNotified?.id === message.id && lastNotified.code === null) notify([message])
  })
}

let lastNotified: MessageSummary | undefined

function notify(messages: readonly MessageSummary[]): void {
  if (notifications.peek() !== 'on' || document.visibilityState !== 'hidden') return
  const [first] = messages
  lastNotified = first
  showNotification(messages)
}

/** All tabs hear of new mail, but only one of them chimes. */
async function chimeOnce(): Promise<void> {
  const result = await withLock('mayfly chime', { ifAvailable: true }, () => {
    chime()
    return new Promise((resolve) => setTimeout(resolve, CHIME_INTERVAL_MS))
  })
  if (result === 'none') chime()
}

/** New mail of an address that is not shown. */
export const arrivalElsewhere = signal<{ mailbox: Mailbox; id: number; text: string } | undefined>(
  undefined,
)

const SHOWN_MS = 8_000
let hideTimer: ReturnType<typeof setTimeout> | undefined

export function hideArrival(): void {
  arrivalElsewhere.value = undefined
}

function announceElsewhere(messages: readonly MessageSummary[], email: string): void {
  const mailbox = mailboxes.peek().find((one) => one.email === email)
  const [first] = messages
  if (!mailbox || !first) return
  const address = mailbox.label ?? email
  const text = t('inbox_new_mail_at', { address, sender: senderName(first) })
  arrivalElsewhere.value = { mailbox, id: first.id, text }
  clearTimeout(hideTimer)
  hideTimer = setTimeout(hideArrival, SHOWN_MS)
}

function arrivalText(messages: readonly MessageSummary[]): string {
  const [first] = messages
  if (!first || messages.length > 1) return t('inbox_new_mail', { count: messages.length })
  const sender = senderName(first)
  return t('inbox_new_mail_from', { sender, subject: first.subject || t('reader_no_subject') })
}

export function senderName({ sender_name, sender_email }: MessageSummary): string {
  return displaySender(sender_name, sender_email).title || t('reader_no_sender')
}

function permission(): NotificationPermission {
  return typeof Notification === 'undefined' ? 'denied' : Notification.permission
}

async function requestPermission(): Promise<NotificationPermission> {
  if (permission() !== 'default') return permission()
  return await Notification.requestPermission()
}

/** Names the sender, and the code if there is one: nothing else of the content belongs on a lock screen. */
function showNotification(messages: readonly MessageSummary[]): void {
  const [first] = messages
  if (!first) return
  const { code } = first
  const title = code
    ? t('inbox_notification_code', { code })
    : t('inbox_new_mail', { count: messages.length })
  const body = code || messages.length === 1 ? senderName(first) : ''
  const options = { body, tag: 'mayfly', icon: '/favicon.svg' }
  try {
    const notification = new Notification(title, options)
    notification.addEventListener('click', () => {
      window.focus()
      notification.close()
    })
  } catch {
    void notifyByWorker(title, options)
  }
}

async function notifyByWorker(title: string, options: NotificationOptions): Promise<void> {
  const worker = await serviceWorker()
  if (worker) return await worker.showNotification(title, options)
  // It was turned on with another browser, or by an earlier version of the page.
  await setNotifications(false)
  notifications.value = 'unsupported'
}

let audio: AudioContext | undefined

/** Two soft notes, synthesised: there is no file to load. */
function chime(): void {
  audio ??= new AudioContext()
  const start = audio.currentTime
  for (const [frequency, offset] of [
    [880, 0],
    [1318.5, 0.12],
  ] as const) {
    const at = start + offset
    const tone = new OscillatorNode(audio, { frequency, type: 'sine' })
    const volume = new GainNode(audio, { gain: 0 })
    volume.gain.setValueAtTime(0, at)
    volume.gain.linearRampToValueAtTime(0.12, at + 0.02)
    volume.gain.exponentialRampToValueAtTime(0.001, at + 0.5)
    tone.connect(volume).connect(audio.destination)
    tone.start(at)
    tone.stop(at + 0.55)
  }
}

/** On the icon of the installed app; 0 removes it. Firefox and plain http do not have it. */
function setAppBadge(count: number): void {
  const { setAppBadge } = navigator as Partial<Navigator>
  setAppBadge?.call(navigator, count).catch(() => undefined)
}

/** Shows a new code or the unread count in the title, and the count on the icons of the tab and the app. */
export function startUnreadTitle(): void {
  effect(() => {
    const count = unreadTotal.value
    const prefix = `(${count.toLocaleString(language.value)}) `
    const message = newCode.value
    const name = unreadName.value ?? t('site_inbox')
    const title = count === 0 ? t('site_title') : `${prefix}${name} – Mayfly`
    document.title = message ? `${message.code} · ${senderName(message)}` : title
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
    if (link) link.href = count === 0 ? '/favicon.svg' : badgeIcon(count)
    setAppBadge(count)
  })
}

const unread = computed(() => [...unreadByAddress.value].filter(([, count]) => count > 0))
/** The address that all unread messages are of, if another one is shown. */
const unreadName = computed(() => {
  const [[email] = ['']] = unread.value
  if (unread.value.length !== 1 || email === currentMailbox.value?.email) return undefined
  return mailboxes.value.find((one) => one.email === email)?.label ?? email
})

/** The site's icon with a count, as a data: URL. */
function badgeIcon(count: number): string {
  const text = count > 9 ? '9+' : String(count)
  return `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b63"/><path d="M16 5l3.2 7.8L27 16l-7.8 3.2L16 27l-3.2-7.8L5 16l7.8-3.2z" fill="none" stroke="#fff" stroke-width="2.2" stroke-linejoin="round"/><circle cx="22" cy="10" r="10" fill="#c7362b"/><text x="22" y="15" font-family="sans-serif" font-size="${count > 9 ? 12 : 14}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`,
  )}`
}
