import type { Socket } from 'node:net'

/** State that the sweep keeps of a connection. */
export interface SweptConnection {
  /** Requests that have begun and have no reply yet. */
  readonly open: number
  /** How often in a row nothing had moved, and the bytes that had been read by then. */
  quiet: number
  bytesSeen: number
  /** Something waited to be taken when it was last looked at. */
  stalling: boolean
}

/** A sweep is at most this far from the last, and an idle connection lives at most so much longer. */
const maxIntervalMs = 5_000
const sweepsInTimeout = 10

/**
 * Ends kept connections on which nothing has moved for `keptMs` since their last reply. One look at all of them now
 * and then, instead of timers that every read and write of every connection starts again. A reply that waits to be
 * taken gives its connection node's timer, of `stalledMs` without a byte: its `timeout` event is the owner's to follow.
 * Handshakes and requests that are under way have limits of their own.
 * @returns ends the sweeping
 */
export function startIdleSweep(
  connections: { all(): Iterable<readonly [Socket, SweptConnection]> },
  { keptMs, stalledMs }: { readonly keptMs: number; readonly stalledMs: number },
): () => void {
  const intervalMs = Math.min(maxIntervalMs, Math.ceil(Math.min(keptMs, stalledMs) / sweepsInTimeout))
  const maxQuietSweeps = Math.ceil(keptMs / intervalMs)
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
      if (connection.quiet > maxQuietSweeps) socket.destroy()
    }
  }
  const timer = setInterval(sweep, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
