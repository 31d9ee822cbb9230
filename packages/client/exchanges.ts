import { createSemaphore } from './semaphore.ts'
import type { createFailures, Transport, TransportOptions } from './transport.ts'

/** One request and its answer, until `signal` ends it. */
export type Exchange = (
  signal: AbortSignal,
  ...request: Parameters<Transport['send']>
) => ReturnType<Transport['send']>

/**
 * Makes a transport of single exchanges. A limited number run at a time, each has a deadline, and `close` aborts them all.
 * @param onClose called by `close` after the exchanges are aborted
 */
export function createTransport(
  exchange: Exchange,
  { timeoutMs, maxConnections }: Pick<TransportOptions, 'timeoutMs' | 'maxConnections'>,
  { closed, late }: Pick<ReturnType<typeof createFailures>, 'closed' | 'late'>,
  onClose: () => void = () => undefined,
): Transport {
  const queue = createSemaphore(maxConnections)
  const running = new Set<AbortController>()
  return {
    async send(...request) {
      const release = await queue.acquire()
      const ending = new AbortController()
      running.add(ending)
      // The deadline covers the whole exchange: otherwise a peer that sends bytes slowly could block the caller for
      // ever.
      const timer = setTimeout(() => ending.abort(late(timeoutMs)), timeoutMs)
      try {
        return await exchange(ending.signal, ...request)
      } catch (error) {
        throw ending.signal.aborted ? ending.signal.reason : error
      } finally {
        clearTimeout(timer)
        running.delete(ending)
        release()
      }
    },
    close() {
      queue.rejectWaiting(closed())
      for (const ending of running) ending.abort(closed())
      onClose()
    },
  }
}
