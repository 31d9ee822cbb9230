import type { Transport } from 'warder/testing'
import type { CaseResult } from '../run/run-case.ts'

/** Results of all cases over one way. */
export interface WayResults {
  readonly way: Transport
  readonly results: readonly CaseResult[]
}

export interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export function countResults(results: readonly CaseResult[]): Count {
  const of = (outcome: CaseResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length
  return { passed: of('passed'), failed: of('failed'), skipped: of('skipped') }
}

/** The first failure of a case, or why it was skipped; undefined when it passed. */
export function remarkOn(result: CaseResult): string | undefined {
  const [failure] = result.failures
  const [first] = failure?.differences ?? []
  if (failure === undefined || first === undefined) return result.reason
  return `step ${failure.step} ${first.operation}: ${first.path} ${first.sentence}`
}

/** Versions and ways as a small table, then every case that did not pass. */
export function formatTable(ways: readonly WayResults[]): readonly string[] {
  const lines = ['version  way          passed  failed  skipped']
  for (const { way, results } of ways) {
    for (const [version, some] of byVersion(results)) {
      const { passed, failed, skipped } = countResults(some)
      const numbers = [passed, failed, skipped].map((number) => String(number).padStart(7)).join('')
      lines.push(`${version.padEnd(9)}${way.padEnd(12)}${numbers}`)
    }
  }
  for (const { way, results } of ways) {
    for (const result of results) {
      const remark = remarkOn(result)
      if (remark !== undefined) lines.push(`${result.outcome} ${way} ${result.testCase.name}: ${remark}`)
    }
  }
  return lines
}

export function byVersion(
  results: readonly CaseResult[],
): readonly (readonly [version: string, results: readonly CaseResult[]])[] {
  return [...Map.groupBy(results, ({ testCase }) => testCase.version)].sort(([one], [other]) =>
    one.localeCompare(other, 'en', { numeric: true }),
  )
}
