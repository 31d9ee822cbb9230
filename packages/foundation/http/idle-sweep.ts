import type { Connections } from './connections.ts'

/** A sweep is at most this far from the last, and an idle connection lives at most so much longer. */
const longestBetweenMs = 5_000
const sweepsInTimeout = 10

/**
 * Ends kept connections on which nothing has moved for `keptMs` since their last reply. One look at all of them now
 * and then, instead of timers that every read and write of every connection starts again. A reply that waits to be
 * taken gives its connection a timer of its own, of `stalledMs` without a byte. Connections that have not sent a
 * request yet, and requests that are on their way, have bounds of their own (`headersTimeoutMs`, `requestTimeoutMs`).
 * @returns ends the sweeping
 */
export function startIdleSweep(
  connections: Connections,
  { keptMs, stalledMs }: { readonly keptMs: number; readonly stalledMs: number },
): () => void {
  const betweenMs = Math.min(longestBetweenMs, Math.ceil(Math.min(keptMs, stalledMs) / sweepsInTimeout))
  const most = Math.ceil(keptMs / betweenMs)
  const sweep = (): void => {
    for (const [socket, connection] of connections.all()) {
      const { bytesRead } = socket
      const unsent = socket.writableLength > 0
      if (unsent !== connection.stalling) {
        connection.stalling = unsent
        socket.setTimeout(unsent ? stalledMs : 0)
      }
      const moved = connection.open > 0 || unsent || bytesRead !== connection.bytesSeen
      connection.bytesSeen = bytesRead
      connection.quiet = moved ? 0 : connection.quiet + 1
      if (connection.quiet > most) socket.destroy()
    }
  }
  const timer = setInterval(sweep, betweenMs)
  timer.unref()
  return () => clearInterval(timer)
}
