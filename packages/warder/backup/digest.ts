import { createHash } from 'node:crypto'

/** Passes bytes through; at their end `digest` returns their SHA-256 in lower-case hexadecimal digits. */
export function hashStream(source: AsyncIterable<Uint8Array>): {
  readonly bytes: AsyncIterable<Uint8Array>
  digest(): string
} {
  const hash = createHash('sha256')
  return {
    bytes: hashChunks(),
    digest: () => hash.copy().digest('hex'),
  }

  async function* hashChunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk)
      yield chunk
    }
  }
}
