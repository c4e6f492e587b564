import { effect, signal } from '@preact/signals'
import { kept } from './kept.ts'

export const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const found = kept.find('theme')

/** Light, dark, or as the device has it. early.ts applies the same before the first paint. */
export const theme = signal<Theme>(THEMES.find((one) => one === found) ?? 'auto')

effect(() => {
  const { dataset } = document.documentElement
  if (theme.value === 'auto') delete dataset['theme']
  else dataset['theme'] = theme.value
})

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  kept.keep('theme', chosen === 'auto' ? undefined : chosen)
}
