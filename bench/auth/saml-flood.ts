// A process of its own that keeps so many hostile responses going at once until it is told to stop. It says when every
// connection is made, and in the end how they were answered.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'

export interface SamlFloodPlan {
  readonly url: string
  readonly caFile: string
  /** Forms and their cookies: each response belongs to a login that was begun. */
  readonly posts: readonly { readonly body: string; readonly cookie: string }[]
  readonly atOnce: number
}

export type SamlFloodResult = Readonly<Record<string, number>>

async function flood(plan: SamlFloodPlan, stopped: () => boolean): Promise<SamlFloodResult> {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: plan.atOnce,
    ca: readFileSync(plan.caFile),
    servername: 'localhost',
  })
  const statuses: Record<string, number> = {}
  let next = 0
  const post = (): Promise<void> =>
    new Promise((resolve) => {
      const { body, cookie } = plan.posts[next++ % plan.posts.length] ?? { body: '', cookie: '' }
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': body.length,
        cookie: `_ea_saml=${cookie}`,
      }
      const sent = request(plan.url, { method: 'POST', agent, headers }, (response) => {
        const status = String(response.statusCode)
        statuses[status] = (statuses[status] ?? 0) + 1
        const pause =
          status === '503' ? Number(response.headers['retry-after'] ?? 1) * 1000 * (0.5 + Math.random()) : 0
        response.resume()
        response.once('end', () => setTimeout(resolve, pause))
      })
      sent.once('error', () => {
        statuses.broken = (statuses.broken ?? 0) + 1
        setTimeout(resolve, 1000)
      })
      sent.end(body)
    })
  // The handshakes of the connections are not what is measured.
  await Promise.all(Array.from({ length: plan.atOnce }, post))
  process.send?.('connected')
  await Promise.all(
    Array.from({ length: plan.atOnce }, async () => {
      while (!stopped()) await post()
    }),
  )
  agent.destroy()
  return statuses
}

if (process.send !== undefined) {
  let stop = false
  process.once('message', (plan: SamlFloodPlan) => {
    process.on('message', () => {
      stop = true
    })
    void flood(plan, () => stop).then((result) => process.send?.(result, () => process.exit(0)))
  })
}
