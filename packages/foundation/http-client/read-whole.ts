import type { IncomingMessage } from 'node:http'

/** An answer with more bytes than its caller wants. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`sent more than ${maxBytes} bytes`)
  }
}

/**
 * The whole body. The connection is given up when it is larger, and by the signal of the request.
 * @throws TooLarge, or whatever the connection fails with
 */
export async function readWhole(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) {
    incoming.destroy()
    throw new TooLarge(maxBytes)
  }
  const parts: Buffer[] = []
  let size = 0
  // Leaving the loop early ends the connection.
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes) throw new TooLarge(maxBytes)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
