import { createHash } from 'node:crypto'

/** The same bytes; once they were read to their end, `digest` is their SHA-256 in lower-case hexadecimal digits. */
export function digested(source: AsyncIterable<Uint8Array>): {
  readonly bytes: AsyncIterable<Uint8Array>
  digest(): string
} {
  const hash = createHash('sha256')
  return {
    bytes: hashed(),
    digest: () => hash.copy().digest('hex'),
  }

  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk)
      yield chunk
    }
  }
}
