// A process that runs this number of concurrent logins, each on its own connection, until it is told to stop; then it
// reports the answers.
import { type FloodTarget, flood, politePauseMs, runUntilStopped, type Statuses } from './flood-process.ts'

export interface FloodPlan extends FloodTarget {
  readonly authorization: string
}

/** Number of logins by status, and number of refusals without Retry-After. */
export interface FloodResult {
  readonly statuses: Statuses
  readonly withoutRetryAfter: number
}

runUntilStopped(async (plan: FloodPlan, stopped): Promise<FloodResult> => {
  let withoutRetryAfter = 0
  const headers = { authorization: plan.authorization }
  const statuses = await flood(
    plan,
    {
      next: () => ({ headers }),
      pauseMs(status, retryAfter) {
        if (status === 200) return 0
        if (retryAfter === undefined) withoutRetryAfter++
        return politePauseMs(retryAfter)
      },
    },
    stopped,
  )
  return { statuses, withoutRetryAfter }
})
