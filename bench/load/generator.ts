import { type Endpoint, openConnection, type Reply, readFrame, readReply } from './connection.ts'

export interface LoadPlan {
  readonly place: Endpoint
  readonly protocol: 'http' | 'kmip'
  /** Bytes of the requests, sent in turn; base64: a plan crosses processes. */
  readonly requests: readonly string[]
  readonly connections: number
  readonly seconds: number
  readonly warmupSeconds: number
  /** Requests a second, at even distances; undefined: as many as are answered. */
  readonly ratePerSecond?: number | undefined
  /** `includes`: base64. */
  readonly expect: { readonly status: number; readonly includes: string }
}

export interface LoadResult {
  /** Requests answered as expected in the measured time. */
  readonly requests: number
  readonly seconds: number
  /** Unexpected replies. */
  readonly wrong: number
  readonly firstWrong: string | undefined
  readonly p50Ms: number
  readonly p99Ms: number
}

const maxSamples = 4_000_000

/**
 * Load on some connections: each sends its next request when the last is answered and checked, or when it is due. Where
 * a rate is given, a request that has to wait for a free connection is late: its latency counts from when it was due.
 * `onMeasure` is called when the warm-up is over and again at the end, so that the caller can read the server's
 * processor time.
 */
export async function generateLoad(
  plan: LoadPlan,
  onMeasure: (moment: 'start' | 'end') => void,
): Promise<LoadResult> {
  const requests = plan.requests.map((request) => Buffer.from(request, 'base64'))
  let next = 0
  const read = plan.protocol === 'http' ? readReply : readFrame
  const connections = await Promise.all(
    Array.from({ length: plan.connections }, () => openConnection(plan.place, read)),
  )
  const latencies: number[] = []
  const needle = Buffer.from(plan.expect.includes, 'base64')
  let wrong = 0
  let firstWrong: string | undefined
  let measuring = false
  let stop = false
  const right = (reply: Reply): boolean =>
    reply.status === plan.expect.status && (needle.length === 0 || reply.body.includes(needle))
  const due = createPacer(plan.ratePerSecond)
  const drive = async (connection: (typeof connections)[number]): Promise<void> => {
    while (!stop) {
      const sent = due()
      while (sent > performance.now()) await nextTurn()
      const reply = await connection.exchange(requests[next++ % requests.length] as Buffer)
      if (!right(reply)) {
        wrong += 1
        firstWrong ??= `${reply.status} ${reply.body.toString().slice(0, 300)}`
        if (wrong > 100) stop = true
      } else if (measuring && latencies.length < maxSamples) {
        latencies.push(performance.now() - sent)
      }
    }
  }
  const drivers = Promise.all(connections.map(drive))
  stayAwake(() => stop)
  await sleep(plan.warmupSeconds * 1000)
  onMeasure('start')
  measuring = true
  const began = performance.now()
  await Promise.race([sleep(plan.seconds * 1000), drivers])
  measuring = false
  const seconds = (performance.now() - began) / 1000
  onMeasure('end')
  stop = true
  await drivers
  for (const connection of connections) connection.close()
  latencies.sort((a, b) => a - b)
  return {
    requests: latencies.length,
    seconds,
    wrong,
    firstWrong,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  }
}

/**
 * @returns a function that returns the time of the next request, in milliseconds of `performance.now()`; without a
 *   rate: now
 */
function createPacer(ratePerSecond: number | undefined): () => number {
  if (ratePerSecond === undefined) return () => performance.now()
  let next = performance.now()
  return () => {
    next += 1000 / ratePerSecond
    return next
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * Keeps this process from sleeping between replies. A server that answers a sleeping client pays for waking its core
 * (tens of microseconds in a virtual machine), and pays more often the slower it is: that would be measured as its own
 * cost. The client has a core to itself, so it may as well stay awake.
 */
function stayAwake(stopped: () => boolean): void {
  if (!stopped()) setImmediate(() => stayAwake(stopped))
}

/** @param sorted ascending; empty gives NaN */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
