import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'

export interface Line {
  readonly bytes: Buffer
  /** Where it begins, in the file as it was written. */
  readonly at: number
  /** It ends with a newline, or is longer than any record. */
  readonly whole: boolean
}

const longestLine = 1_048_576
const chunkBytes = 1_048_576

/**
 * Lines of a log file, of an archived one as they were: split at the newline byte and nothing else. The last may lack
 * its end.
 * @param from where a line begins
 */
export async function* linesOf(path: string, from = 0): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  let at = from
  for await (const chunk of bytesOf(path, from)) {
    const bytes: Buffer = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      yield { bytes: bytes.subarray(start, end), at: at + start, whole: true }
      start = end + 1
    }
    at += start
    rest = Buffer.from(bytes.subarray(start))
    if (rest.length > longestLine) break
  }
  if (rest.length > 0) yield { bytes: rest, at, whole: rest.length > longestLine }
}

/** The bytes of a log file as it was written. @param from how many are left out */
export async function* bytesOf(path: string, from = 0): AsyncGenerator<Uint8Array> {
  if (!path.endsWith('.zst')) {
    yield* createReadStream(path, { start: from, highWaterMark: chunkBytes })
    return
  }
  const whole = createZstdDecompress({ chunkSize: chunkBytes })
  // An error of the file is one of its reader.
  pipeline(createReadStream(path, { highWaterMark: chunkBytes }), whole, () => undefined)
  let skip = from
  for await (const chunk of whole as AsyncIterable<Uint8Array>) {
    const left = chunk.subarray(Math.min(skip, chunk.length))
    skip -= chunk.length - left.length
    if (left.length > 0) yield left
  }
}
