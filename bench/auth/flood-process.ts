// Shared by the processes that send many requests concurrently until they are told to stop.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'

export interface FloodTarget {
  readonly url: string
  readonly caFile: string
  readonly atOnce: number
}

/** How many requests got which status; `broken` for none. */
export type Statuses = Readonly<Record<string, number>>

export interface FloodTraffic {
  /** Returns the next request to post. */
  next(): { readonly headers: Readonly<Record<string, string | number>>; readonly body?: string }
  /** @returns milliseconds until this connection sends its next request */
  pauseMs(status: number, retryAfter: string | undefined): number
}

/** Clients wait for Retry-After, plus or minus one half, so that they do not all return at the same time. */
export const politePauseMs = (retryAfter: string | undefined): number =>
  Number(retryAfter ?? 1) * 1000 * (0.5 + Math.random())

/**
 * Posts on so many connections at once, each of them one request after the other.
 * @param connected is called when each connection has had its first answer: handshakes are not measured
 */
export async function flood(
  { url, caFile, atOnce }: FloodTarget,
  traffic: FloodTraffic,
  stopped: () => boolean,
  connected: () => void = () => {},
): Promise<Statuses> {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: atOnce,
    ca: readFileSync(caFile),
    servername: 'localhost',
  })
  const statuses: Record<string, number> = {}
  const post = (): Promise<void> =>
    new Promise((resolve) => {
      const { headers, body } = traffic.next()
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        const status = response.statusCode ?? 0
        statuses[status] = (statuses[status] ?? 0) + 1
        const pause = traffic.pauseMs(status, response.headers['retry-after'])
        response.resume()
        response.once('end', () => (pause === 0 ? resolve() : setTimeout(resolve, pause)))
      })
      sent.once('error', () => {
        statuses.broken = (statuses.broken ?? 0) + 1
        setTimeout(resolve, politePauseMs(undefined))
      })
      sent.end(body)
    })
  const connections = Array.from({ length: atOnce })
  await Promise.all(connections.map(post))
  connected()
  await Promise.all(
    connections.map(async () => {
      while (!stopped()) await post()
    }),
  )
  agent.destroy()
  return statuses
}

/** Runs in a process of its own: the first message is the plan, the second one ends it, and the result is sent back. */
export function runUntilStopped<Plan>(
  work: (plan: Plan, stopped: () => boolean) => Promise<Statuses | object>,
): void {
  if (process.send === undefined) return
  let stop = false
  process.once('message', (plan: Plan) => {
    process.on('message', () => {
      stop = true
    })
    void work(plan, () => stop).then((result) => process.send?.(result, () => process.exit(0)))
  })
}
