// A process that sends this number of concurrent hostile responses until it is told to stop. It reports when every
// connection is made, and in the end how they were answered.
import { type FloodTarget, flood, politePauseMs, runUntilStopped } from './flood-process.ts'

export interface SamlFloodPlan extends FloodTarget {
  /** Forms and their cookies: each response belongs to a login that was begun. */
  readonly posts: readonly { readonly body: string; readonly cookie: string }[]
}

runUntilStopped((plan: SamlFloodPlan, stopped) => {
  let sent = 0
  return flood(
    plan,
    {
      next() {
        const { body, cookie } = plan.posts[sent++ % plan.posts.length] ?? { body: '', cookie: '' }
        const headers = {
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': body.length,
          cookie: `_ea_saml=${cookie}`,
        }
        return { headers, body }
      },
      pauseMs: (status, retryAfter) => (status === 503 ? politePauseMs(retryAfter) : 0),
    },
    stopped,
    () => process.send?.('connected'),
  )
})
