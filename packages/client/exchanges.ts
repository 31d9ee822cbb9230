import type { failuresOf, Transport, TransportOptions } from './transport.ts'
import { turns } from './turns.ts'

/** One request and its answer, until `signal` ends it. */
export type Exchange = (
  signal: AbortSignal,
  ...request: Parameters<Transport['send']>
) => ReturnType<Transport['send']>

/**
 * Makes a transport of single exchanges: some at a time, each within the time that it may take, all of them ended by `close`.
 * @param ended is called by `close`, behind the exchanges
 */
export function transportOf(
  exchange: Exchange,
  { timeoutMs, maxConnections }: Pick<TransportOptions, 'timeoutMs' | 'maxConnections'>,
  { closed, late }: Pick<ReturnType<typeof failuresOf>, 'closed' | 'late'>,
  ended: () => void = () => undefined,
): Transport {
  const queue = turns(maxConnections)
  const underWay = new Set<AbortController>()
  return {
    async send(...request) {
      const done = await queue.take()
      const ending = new AbortController()
      underWay.add(ending)
      // Of the whole exchange: a peer that drips bytes would hold the caller for ever.
      const timer = setTimeout(() => ending.abort(late(timeoutMs)), timeoutMs)
      try {
        return await exchange(ending.signal, ...request)
      } catch (error) {
        throw ending.signal.aborted ? ending.signal.reason : error
      } finally {
        clearTimeout(timer)
        underWay.delete(ending)
        done()
      }
    },
    close() {
      queue.refuse(closed())
      for (const ending of underWay) ending.abort(closed())
      ended()
    },
  }
}
