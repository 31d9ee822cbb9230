import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

const height = 140
const dayMs = 86_400_000

/** Bars of one kind; those of the next kind are drawn over them. */
export interface Bars {
  readonly label: string
  /** A colour of the style, e.g. `--accent`. */
  readonly colour: string
  /** One for each interval. */
  readonly counts: readonly number[]
}

interface TimeChartProps {
  /** The chart in a sentence, for those who do not see it. */
  readonly label: string
  /** Of the vertical axis. */
  readonly axis: string
  /** Unix milliseconds: begin of the first interval. */
  readonly start: number
  readonly stepMs: number
  readonly bars: readonly Bars[]
}

/**
 * Counts by time (UTC), as bars. A table beside it must have the same data for those who do not see it. Loaded on demand,
 * since few rooms need its library.
 */
export function TimeChart({ label, axis, start, stepMs, bars }: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const times = (bars[0]?.counts ?? []).map((_, index) => (start + index * stepMs) / 1000)
    const data: uPlot.AlignedData = [times, ...bars.map(({ counts }) => [...counts])]
    const plot = new uPlot(describePlot(element, axis, stepMs, bars), data, element)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [axis, start, stepMs, bars])
  return <div className="chart" ref={box} role="img" aria-label={label} />
}

function describePlot(
  element: HTMLElement,
  axis: string,
  stepMs: number,
  bars: readonly Bars[],
): uPlot.Options {
  const axes = {
    stroke: resolveColour(element, '--quiet'),
    grid: { stroke: resolveColour(element, '--line'), width: 1 },
    font: `12px ${getComputedStyle(element).fontFamily}`,
  }
  const paths = uPlot.paths.bars?.({ size: [0.7, 24] })
  const margin = stepMs / 2000
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: {
      x: { range: (_plot, min, max) => [min - margin, max + margin] },
      y: { range: (_plot, _min, max) => [0, Math.max(1, max)] },
    },
    axes: [
      { ...axes, values: (_plot, ticks, _axis, _space, increment) => formatTicks(ticks, increment) },
      { ...axes, label: axis, incrs: increments, size: 56 },
    ],
    series: [
      {},
      ...bars.map(({ label, colour }) => ({
        ...{ label, fill: resolveColour(element, colour), width: 0, points: { show: false } },
        ...(paths !== undefined && { paths }),
      })),
    ],
  }
}

const increments = Array.from({ length: 12 }, (_, power) =>
  [1, 2, 5].map((each) => each * 10 ** power),
).flat()

/** @param ticks Unix seconds @param increment seconds between them */
function formatTicks(ticks: readonly number[], increment: number): string[] {
  const isDays = increment * 1000 >= dayMs
  return ticks.map((seconds) => {
    const text = new Date(seconds * 1000).toISOString()
    return isDays || text.slice(11, 16) === '00:00' ? text.slice(5, 10) : text.slice(11, 16)
  })
}

/** The value of a colour that depends on the theme, for a canvas. */
function resolveColour(element: HTMLElement, name: string): string {
  const before = element.style.color
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = before
  return color
}
