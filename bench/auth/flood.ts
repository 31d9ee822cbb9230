// A process of its own that keeps so many logins going at once, each on a connection of its own, until it is told to
// stop; then it says how they were answered.
import { type FloodTarget, flood, politePauseMs, runUntilStopped, type Statuses } from './flood-process.ts'

export interface FloodPlan extends FloodTarget {
  readonly authorization: string
}

/** How many logins got which status; with them, how many refusals did not say when to try again. */
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
