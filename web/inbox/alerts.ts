import { signal } from '@preact/signals'
import { displaySender } from '../../src/shared/sender-display.ts'
import { kept } from '../site/kept.ts'
import type { Summary } from '../site/shapes.ts'
import { announceQuietly } from '../site/told.ts'
import { say } from '../site/words.ts'
import { onArrival } from './mail.ts'

/** A sound when mail comes, and a notification while the page is out of sight. Both only when asked for. */
export const soundOn = signal(kept.find('sound') === 'on')
export const notesOn = signal(kept.find('notes') === 'on' && permission() === 'granted')
/** The browser said no: only its own settings can change that. */
export const notesRefused = signal(false)

export function chooseSound(on: boolean): void {
  soundOn.value = on
  kept.keep('sound', on ? 'on' : undefined)
  if (on) chime()
}

/** Asks the browser for leave: nothing else in the page does. */
export async function chooseNotes(on: boolean): Promise<void> {
  const allowed = on && (await askPermission()) === 'granted'
  notesRefused.value = on && !allowed
  notesOn.value = allowed
  kept.keep('notes', allowed ? 'on' : undefined)
}

// Mail that comes in numbers rings once.
const QUIET_MS = 2_000

export function keepAlerts(): void {
  let rungAt = 0
  onArrival.add((messages) => {
    announceQuietly(toldOf(messages))
    if (notesOn.value && document.visibilityState === 'hidden') note(messages)
    if (!soundOn.value || Date.now() - rungAt < QUIET_MS) return
    rungAt = Date.now()
    chime()
  })
}

function toldOf(messages: readonly Summary[]): string {
  const [first] = messages
  if (!first || messages.length > 1) return say('inbox_told_new', { count: messages.length })
  const sender = senderOf(first)
  return say('inbox_told_from', { sender, subject: first.subject || say('reader_no_subject') })
}

function senderOf({ sender_name, sender_email }: Summary): string {
  return displaySender(sender_name, sender_email).title || say('reader_nobody')
}

function permission(): NotificationPermission {
  return typeof Notification === 'undefined' ? 'denied' : Notification.permission
}

async function askPermission(): Promise<NotificationPermission> {
  if (permission() !== 'default') return permission()
  return await Notification.requestPermission()
}

/** Who wrote, and no more: what is in a mail does not belong on a locked screen. */
function note(messages: readonly Summary[]): void {
  const [first] = messages
  if (!first) return
  const title = say('inbox_told_new', { count: messages.length })
  const body = messages.length === 1 ? senderOf(first) : ''
  try {
    const shown = new Notification(title, { body, tag: 'mayfly', icon: '/favicon.svg' })
    shown.addEventListener('click', () => {
      window.focus()
      shown.close()
    })
  } catch {
    // Some phones show them only for an installed page.
  }
}

let audio: AudioContext | undefined

/** Two soft notes, drawn here: there is no file to load. */
function chime(): void {
  audio ??= new AudioContext()
  const start = audio.currentTime
  for (const [hertz, after] of [
    [880, 0],
    [1318.5, 0.12],
  ] as const) {
    const tone = new OscillatorNode(audio, { frequency: hertz, type: 'sine' })
    const volume = new GainNode(audio, { gain: 0 })
    volume.gain.setValueAtTime(0, start + after)
    volume.gain.linearRampToValueAtTime(0.12, start + after + 0.02)
    volume.gain.exponentialRampToValueAtTime(0.001, start + after + 0.5)
    tone.connect(volume).connect(audio.destination)
    tone.start(start + after)
    tone.stop(start + after + 0.55)
  }
}
