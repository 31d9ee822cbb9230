import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

const dayMs = 86_400_000
const minDays = 14
const height = 140

/** @param seconds Unix time */
const formatDay = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(5, 10)

/** Number of entries for each day from the first to today. @param days RFC 3339 dates */
function countDays(days: readonly string[]): { readonly times: number[]; readonly counts: number[] } {
  const today = Math.floor(Date.now() / dayMs)
  const numbers = days.map((day) => Math.floor(Date.parse(day) / dayMs))
  const first = Math.min(today - minDays + 1, ...numbers)
  const counts = Array.from({ length: today - first + 1 }, () => 0)
  for (const day of numbers) {
    const index = day - first
    if (index >= 0 && index < counts.length) counts[index] = (counts[index] ?? 0) + 1
  }
  return { times: counts.map((_, index) => ((first + index) * dayMs) / 1000), counts }
}

/** Bars by day. The table beside it has the same data for those who do not see it. */
export function Chart(props: {
  readonly label: string
  readonly axis: string
  readonly days: readonly string[]
}) {
  const { label, axis, days } = props
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const style = getComputedStyle(element)
    const [text, line, accent] = ['--quiet', '--line', '--accent'].map((name) => resolveColour(element, name))
    const axes = {
      stroke: text ?? '',
      grid: { stroke: line ?? '', width: 1 },
      font: `12px ${style.fontFamily}`,
    }
    const { times, counts } = countDays(days)
    const bars = uPlot.paths.bars?.({ size: [0.7, 24] })
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
        scales: {
          x: { range: (_plot, min, max) => [min - dayMs / 2000, max + dayMs / 2000] },
          y: { range: (_plot, _min, max) => [0, Math.max(1, max)] },
        },
        axes: [
          { ...axes, values: (_plot, ticks) => ticks.map(formatDay) },
          { ...axes, label: axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500], size: 40 },
        ],
        series: [
          {},
          {
            label: axis,
            fill: accent ?? '',
            width: 0,
            points: { show: false },
            ...(bars !== undefined && { paths: bars }),
          },
        ],
      },
      [times, counts],
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [days, axis])
  return <div className="chart" ref={box} role="img" aria-label={label} />
}

/** The value of a colour that depends on the theme, for a canvas. */
function resolveColour(element: HTMLElement, name: string): string {
  const before = element.style.color
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = before
  return color
}
