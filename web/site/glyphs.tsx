// Small drawings on a field of 24 by 24, in strokes of the text's colour: one path each.
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
  bin: 'M4 6.5h16M9 6.5V4h6v2.5M6 6.5l1 14h10l1-14M10 10.5v6M14 10.5v6',
} as const

export function Glyph({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="glyph" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
