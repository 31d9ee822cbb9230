// A process of its own that keeps so many logins going at once, each on a connection of its own, until it is told to
// stop; then it says how they were answered.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'

export interface FloodPlan {
  readonly url: string
  readonly caFile: string
  readonly authorization: string
  readonly atOnce: number
}

/** How many logins got which status; with them, how many refusals did not say when to try again. */
export interface FloodResult {
  readonly statuses: Readonly<Record<string, number>>
  readonly withoutRetryAfter: number
}

/** Clients do as Retry-After says, give or take a half, so that they do not all come back at the same moment. */
const pauseMs = (retryAfter: string | undefined): number =>
  Number(retryAfter ?? 1) * 1000 * (0.5 + Math.random())

async function flood(plan: FloodPlan, stopped: () => boolean): Promise<FloodResult> {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: plan.atOnce,
    ca: readFileSync(plan.caFile),
    servername: 'localhost',
  })
  const statuses: Record<string, number> = {}
  let withoutRetryAfter = 0
  const login = (): Promise<void> =>
    new Promise((resolve) => {
      const headers = { authorization: plan.authorization }
      const sent = request(plan.url, { method: 'POST', agent, headers }, (response) => {
        const status = response.statusCode ?? 0
        statuses[status] = (statuses[status] ?? 0) + 1
        const retryAfter = response.headers['retry-after']
        if (status !== 200 && retryAfter === undefined) withoutRetryAfter++
        response.resume()
        response.once('end', () => (status === 200 ? resolve() : setTimeout(resolve, pauseMs(retryAfter))))
      })
      sent.once('error', () => {
        statuses.broken = (statuses.broken ?? 0) + 1
        setTimeout(resolve, pauseMs(undefined))
      })
      sent.end()
    })
  await Promise.all(
    Array.from({ length: plan.atOnce }, async () => {
      while (!stopped()) await login()
    }),
  )
  agent.destroy()
  return { statuses, withoutRetryAfter }
}

if (process.send !== undefined) {
  let stop = false
  process.once('message', (plan: FloodPlan) => {
    process.on('message', () => {
      stop = true
    })
    void flood(plan, () => stop).then((result) => process.send?.(result, () => process.exit(0)))
  })
}
