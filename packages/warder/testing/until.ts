import assert from 'node:assert/strict'

const withinMs = 60_000

/** Waits until a condition holds, as long as a slow machine may need. @param what describes it in the failure */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `within ${withinMs / 1000} s it did not happen that ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
