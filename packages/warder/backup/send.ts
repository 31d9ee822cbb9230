import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { StartupError } from '@warder/base'

/** Standard output of this process, with the bytes that were written. */
export interface StandardOutput {
  readonly bytes: number
  /** SHA-256 of them, in lower-case hexadecimal digits. */
  digest(): string
  /** @throws StartupError when the reader has closed it */
  write(bytes: Uint8Array): Promise<void>
}

export function standardOutput(): StandardOutput {
  const hash = createHash('sha256')
  let sentBytes = 0
  return {
    get bytes() {
      return sentBytes
    },
    digest: () => hash.copy().digest('hex'),
    write: (bytes) =>
      new Promise((resolve, reject) => {
        process.stdout.write(bytes, (error) => {
          if (error)
            return reject(
              new StartupError(
                `standard output was closed (${error.message}): the sent backup is incomplete`,
              ),
            )
          sentBytes += bytes.length
          hash.update(bytes)
          resolve()
        })
      }),
  }
}

/**
 * Sends a complete backup, from an offset on.
 * @throws StartupError when it does not exist, is shorter, or the output is closed
 */
export async function sendFrom(
  path: string,
  from: number,
  output: StandardOutput,
  signal?: AbortSignal,
): Promise<void> {
  if (!existsSync(path))
    throw new StartupError(
      `${path} does not exist: the other side has part of a backup that is gone; start a new one`,
    )
  const { size } = statSync(path)
  if (from > size)
    throw new StartupError(
      `${path} has ${size} bytes, but the other side has ${from}: that is another backup`,
    )
  if (from === size) return
  try {
    for await (const chunk of createReadStream(path, { start: from })) {
      signal?.throwIfAborted()
      await output.write(chunk)
    }
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    throw new StartupError(
      `${error.message}; ${path} is complete, resume with --from and the byte count of the other side`,
    )
  }
}
