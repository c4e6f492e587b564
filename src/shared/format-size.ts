const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

/** A number of bytes in the unit that suits it: `512 bytes`, `12 kB`, `3.4 MB`. */
export function formatSize(bytes: number, language: string): string {
  const step = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: UNITS[step] ?? 'byte',
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step > 1 ? 1 : 0,
  }).format(bytes / 1_000 ** step)
}
