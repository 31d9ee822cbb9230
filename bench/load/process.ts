// The process of the load generator: receives one plan from its parent, reports when measuring starts and ends, sends
// the result, waits for the next plan.
import { generateLoad, type LoadPlan } from './generator.ts'

process.on('message', (plan: LoadPlan) => {
  generateLoad(plan, (moment) => process.send?.({ moment })).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  )
})
