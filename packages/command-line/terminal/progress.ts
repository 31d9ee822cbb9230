/** Output for a progress bar: standard error, when it is a terminal. */
export interface ProgressOutput {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

export interface Progress {
  update(done: number, size: number): void
  /** Removes the bar. */
  clear(): void
}

/** Unit of the amounts. */
export interface ProgressUnit {
  readonly name: string
  readonly size: number
}

const drawEveryMs = 100
const mebibytes: ProgressUnit = { name: 'MiB', size: 1024 * 1024 }
const clearLine = '\r\u001b[K'

/** A bar with percentage, amount and speed, drawn at most ten times per second; without a terminal it does nothing. */
export function progressBar(
  output: ProgressOutput,
  now: () => number = () => performance.now(),
  { name, size: unit }: ProgressUnit = mebibytes,
): Progress {
  const amount = (value: number): string => String(Math.round(value / unit))
  if (output.isTTY !== true) return { update: () => undefined, clear: () => undefined }
  const started = now()
  let drawn = Number.NEGATIVE_INFINITY
  let shown = false
  return {
    update(done, size) {
      const time = now()
      if (time - drawn < drawEveryMs) return
      drawn = time
      shown = true
      const seconds = Math.max((time - started) / 1000, 0.001)
      const share = size === 0 ? 1 : Math.min(done / size, 1)
      const numbers = `${String(Math.floor(share * 100)).padStart(3)}%  ${amount(done)} of ${amount(size)} ${name}  ${amount(done / seconds)} ${name}/s`
      // Some terminals report 0 if they do not know their width.
      const columns = output.columns === undefined || output.columns === 0 ? 80 : output.columns
      const room = Math.min(columns - numbers.length - 4, 40)
      const filled = Math.round(share * Math.max(room, 0))
      const bar = room < 8 ? '' : `[${'='.repeat(filled)}${' '.repeat(room - filled)}] `
      output.write(`${clearLine}${bar}${numbers}`)
    },
    clear() {
      if (shown) output.write(clearLine)
      shown = false
    },
  }
}
