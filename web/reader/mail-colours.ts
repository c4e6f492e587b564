import { computed, signal } from '@preact/signals'
import { theme } from '../site/layout.tsx'
import { matchesMedia } from '../site/media.ts'

const prefersDark = matchesMedia('(prefers-color-scheme: dark)')
export const isDarkTheme = computed(() =>
  theme.value === 'auto' ? prefersDark.value : theme.value === 'dark',
)

/** What the mail has: no colors, colors for a light background, or its own design for dark mode. */
export type OwnColours = 'none' | 'light' | 'designed'

/** Chosen by the user. Stays for the next message. */
const chosen = signal<'dark' | 'original' | undefined>(undefined)
/** Of the mail on display. */
export const ownColours = signal<OwnColours>('designed')

/** In dark mode. A mail without colors follows the theme; others are as the sender designed them, unless the user chooses otherwise. */
export function isDarkened(own: OwnColours): boolean {
  if (!isDarkTheme.value || own === 'designed') return false
  return (chosen.value ?? (own === 'none' ? 'dark' : 'original')) === 'dark'
}

export function canDarken(): boolean {
  return isDarkTheme.value && ownColours.value !== 'designed'
}

export function toggleColours(): void {
  chosen.value = isDarkened(ownColours.value) ? 'original' : 'dark'
}
