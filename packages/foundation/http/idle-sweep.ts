import type { Socket } from 'node:net'
import type { Connections } from './connections.ts'

/** A sweep is at most this far from the last, and an idle connection lives at most so much longer. */
const longestBetweenMs = 5_000
const sweepsInTimeout = 10

/**
 * Ends kept connections on which nothing has moved for `timeoutMs` since their last reply. One look at all of them now
 * and then, instead of a timer that every request of every connection stops and starts again. Connections that have
 * not sent a request yet have the time for a head (`headersTimeoutMs`).
 * @returns ends the sweeping
 */
export function startIdleSweep(
  sockets: ReadonlySet<Socket>,
  connections: Connections,
  timeoutMs: number,
): () => void {
  const betweenMs = Math.min(longestBetweenMs, Math.ceil(timeoutMs / sweepsInTimeout))
  const most = Math.ceil(timeoutMs / betweenMs)
  const sweep = (): void => {
    for (const socket of sockets) {
      const connection = connections.known(socket)
      if (connection === undefined) continue
      const { bytesRead } = socket
      const moved = connection.open > 0 || socket.writableLength > 0 || bytesRead !== connection.bytesSeen
      connection.bytesSeen = bytesRead
      connection.quiet = moved ? 0 : connection.quiet + 1
      if (connection.quiet > most) socket.destroy()
    }
  }
  const timer = setInterval(sweep, betweenMs)
  timer.unref()
  return () => clearInterval(timer)
}
