import { type Progress, type ProgressOutput, progressBar } from '@warder/command-line'

const reportEvery = 100_000

/** A progress bar in rows; without a terminal, a line from time to time. @param size 0 = not known */
export function rowProgress(screen: ProgressOutput, say: (line: string) => void): Progress {
  const bar = progressBar(screen, undefined, { name: 'rows', size: 1 })
  let reported = 0
  return {
    update(done, size) {
      if (screen.isTTY === true && size > 0) return bar.update(done, size)
      if (done - reported < reportEvery) return
      reported = done
      say(size > 0 ? `${done} of ${size} rows …` : `${done} rows …`)
    },
    clear: bar.clear,
  }
}

/** Passes bytes through and reports their number. */
export async function* reportProgress(
  source: AsyncIterable<Uint8Array>,
  size: number,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const chunk of source) {
    done += chunk.length
    progress.update(done, size)
    yield chunk
  }
}
