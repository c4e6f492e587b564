import uPlot from 'uplot'
import { textDirection } from '../../src/shared/languages.ts'
import { language } from './i18n.ts'
import { axisTop, type PlotData } from './plot-data.ts'
import 'uplot/dist/uPlot.min.css'

const DAY_SECONDS = 86_400
const CLOCK = { hour: 'numeric', minute: '2-digit' } as const
const DAY = { month: 'short', day: 'numeric' } as const

interface Drawing {
  /** Its size, font and text colour are those of the plot; its border colour is that of the grid. */
  area: HTMLElement
  /** Colours of the lines. */
  colours: readonly string[]
  /** Gets the step below the pointer. */
  onHover(step: number | undefined): void
}

/** Returns what removes the plot. */
export function drawPlot(data: PlotData, { area, colours, onHover }: Drawing): () => void {
  const times = data.times.map((time) => time.getTime() / 1000)
  const plot = new uPlot(
    {
      width: area.clientWidth,
      height: area.clientHeight,
      ...optionsOf(data, area, colours),
      hooks: {
        setCursor: [
          ({ cursor: { left = -1 }, posToVal }) => {
            const step = left < 0 ? -1 : times.findLastIndex((time) => time <= posToVal(left, 'x'))
            onHover(step < 0 ? undefined : Math.min(step, times.length - 2))
          },
        ],
      },
    },
    [times, ...data.lines.map(({ values }) => withEnd(values))],
    area,
  )
  const observer = new ResizeObserver(() =>
    plot.setSize({ width: area.clientWidth, height: area.clientHeight }),
  )
  observer.observe(area)
  return () => {
    observer.disconnect()
    plot.destroy()
    onHover(undefined)
  }
}

/** A value is drawn up to the next one: the last one needs an end. */
function withEnd(values: readonly (number | null)[]): (number | null)[] {
  const last = values.findLastIndex((value) => value !== null)
  return [...values, null].with(last + 1, values[last] ?? null)
}

function optionsOf(
  { times, lines, formatValue }: PlotData,
  area: HTMLElement,
  colours: readonly string[],
) {
  const isRtl = textDirection(language.value) === 'rtl'
  const direction = isRtl ? -1 : 1
  const { fontFamily, color, borderTopColor: grid } = getComputedStyle(area)
  const axis = {
    stroke: color,
    font: `12px ${fontFamily}`,
    grid: { stroke: grid, width: 1 },
    ticks: { show: false },
  }
  const ruler = document.createElement('canvas').getContext('2d')
  const widthOf = (text: string) => {
    if (ruler) ruler.font = axis.font
    return ruler?.measureText(text).width ?? 0
  }
  // A time below either end of the axis is centered there.
  const ends = [times[0], times.at(-1)].flatMap((time) =>
    [CLOCK, DAY].map((format) => widthOf(time?.toLocaleString(language.value, format) ?? '')),
  )
  const overhang = Math.ceil(Math.max(...ends) / 2)
  const paths = uPlot.paths.stepped?.({ align: direction, alignGaps: direction })
  const isWhole = lines.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)))
  return {
    padding: [8, isRtl ? 0 : overhang, 0, isRtl ? overhang : 0] as uPlot.Padding,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false }, sync: { key: 'time' } },
    scales: {
      x: { dir: direction },
      y: { range: (_: uPlot, _min: number, max: number) => [0, axisTop(max, isWhole)] },
    },
    axes: [
      // Far enough down for the lowest value beside the first time.
      { ...axis, gap: 10, size: 32, splits: () => timeTicks(times), values: timeTexts },
      {
        ...axis,
        side: isRtl ? 1 : 3,
        gap: 6,
        splits: (_: uPlot, _axis: number, _min: number, top: number) => [0, top / 2, top],
        size: (_: uPlot, texts?: string[]) =>
          Math.max(overhang, ...(texts ?? []).map((text) => 8 + widthOf(text))),
        values: (_: uPlot, values: number[]) => values.map(formatValue),
      },
    ],
    series: [
      {},
      ...lines.map((_, line) => ({
        stroke: colours[line] ?? color,
        fill: `color-mix(in srgb, ${colours[line] ?? color} 15%, transparent)`,
        width: 1.5,
        ...(paths && { paths }),
        points: { show: false },
      })),
    ],
  } satisfies Partial<uPlot.Options>
}

/** The first, the middle and the last step. */
function timeTicks(times: readonly Date[]): number[] {
  const last = Math.max(0, times.length - 2)
  const steps = new Set([0, Math.floor(last / 2), last])
  return [...steps].map((step) => (times[step]?.getTime() ?? 0) / 1000)
}

function timeTexts(_plot: uPlot, times: number[]): string[] {
  const [first = 0, last = first] = [times[0], times.at(-1)]
  const format = last - first <= DAY_SECONDS ? CLOCK : DAY
  return times.map((time) => new Date(time * 1000).toLocaleString(language.value, format))
}
