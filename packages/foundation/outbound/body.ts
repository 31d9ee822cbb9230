import type { IncomingMessage } from 'node:http'
import { failureOf, OutboundError } from './error.ts'

/** The whole body. @throws OutboundError `size` past `maxBytes`, `time`, `connection` */
export async function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
  deadline: AbortSignal,
): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) {
    incoming.destroy()
    throw new OutboundError('size', `the response is larger than ${maxBytes} bytes`)
  }
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of incoming) {
      size += (chunk as Buffer).length
      if (size > maxBytes) throw new OutboundError('size', `the response is larger than ${maxBytes} bytes`)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    incoming.destroy()
    throw error instanceof OutboundError ? error : failureOf(error, deadline)
  }
  return Buffer.concat(chunks)
}
