// One stroked path each, on a 24 × 24 grid.
const PATHS = {
  copy: 'M9 9h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1zM5 15H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1v1',
  done: 'M4 12.5l5.5 5.5L20 6.5',
  plus: 'M12 5v14M5 12h14',
  pen: 'M4 20l1-4.5L16 4.5a1.5 1.5 0 0 1 2 0L19.5 6a1.5 1.5 0 0 1 0 2L8.5 19zM13.5 7l3.5 3.5',
  phone:
    'M8 2.5h8A1.5 1.5 0 0 1 17.5 4v16a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 0 1 6.5 20V4A1.5 1.5 0 0 1 8 2.5zM11 18.5h2',
  clock: 'M12 3a9 9 0 1 1 0 18a9 9 0 0 1 0-18zM12 7v5.5l3.5 2',
  down: 'M6 9.5l6 6l6-6',
  close: 'M6 6l12 12M18 6L6 18',
  search: 'M10.5 4a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM15.5 15.5L21 21',
  again: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9.4M20 4v5.4h-5.4',
  letter:
    'M3.5 6h17a.5.5 0 0 1 .5.5v11a.5.5 0 0 1-.5.5h-17a.5.5 0 0 1-.5-.5v-11a.5.5 0 0 1 .5-.5zM3.5 7l8.5 6.5L20.5 7',
  gear: 'M4 7h9M19 7h1M4 17h1M11 17h9M16 4.5a2.5 2.5 0 1 1 0 5a2.5 2.5 0 0 1 0-5zM8 14.5a2.5 2.5 0 1 1 0 5a2.5 2.5 0 0 1 0-5z',
  bin: 'M4 6.5h16M9 6.5V4h6v2.5M6 6.5l1 14h10l1-14M10 10.5v6M14 10.5v6',
  up: 'M6 14.5l6-6l6 6',
  back: 'M14.5 6l-6 6l6 6',
  save: 'M12 4v11M7.5 11l4.5 4.5l4.5-4.5M4.5 19.5h15',
  out: 'M14 4.5h5.5V10M19 5l-8 8M10 6H5.5A1 1 0 0 0 4.5 7v11.5a1 1 0 0 0 1 1H17a1 1 0 0 0 1-1V14',
  file: 'M7 3h7l4.5 4.5V20a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM13.5 3v5h5',
  clip: 'M19.5 11.5l-7.4 7.4a4.6 4.6 0 0 1-6.5-6.5l7.8-7.8a3 3 0 0 1 4.3 4.3l-7.8 7.8a1.5 1.5 0 0 1-2.1-2.1l7-7',
  more: 'M5.5 12h.01M12 12h.01M18.5 12h.01',
  widen: 'M14 4.5h5.5V10M19 5l-5.5 5.5M10 19.5H4.5V14M5 19l5.5-5.5',
  narrow: 'M19.5 10H14V4.5M14.5 9.5L20 4M4.5 14H10v5.5M9.5 14.5L4 20',
  print:
    'M7 8.5V3.5h10v5M7 17H4.5a1 1 0 0 1-1-1V9.5a1 1 0 0 1 1-1h15a1 1 0 0 1 1 1V16a1 1 0 0 1-1 1H17M7 14h10v6.5H7z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="glyph" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
