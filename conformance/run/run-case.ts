import { KmipDecodeError, type TtlvNode } from '@warder/kmip-codec'
import { nodeOfElement } from '@warder/kmip-codec/testing'
import { Bindings, UnboundPlaceholder } from '../cases/bindings.ts'
import { listOperations, type TestCase } from '../cases/test-case.ts'
import { compareResponse, type Known, type StepDifference } from '../compare/response.ts'

/** Result of one test case. */
export interface CaseResult {
  readonly testCase: TestCase
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Why it was skipped, or `undefined`. */
  readonly reason: string | undefined
  readonly failures: readonly StepFailure[]
}

/** Failure of one step. */
export interface StepFailure {
  /** From 0, as the cases count themselves. */
  readonly step: number
  readonly differences: readonly StepDifference[]
  readonly sent: TtlvNode | undefined
  readonly received: TtlvNode | undefined
}

/** Sends a message, gets the answer. */
export type Exchanger = (message: TtlvNode) => Promise<TtlvNode>

/** Nothing is known yet. */
export function newKnown(): Known {
  return { generated: new Set(), algorithms: new Map(), paddings: new Map() }
}

/** How strictly answers are compared. */
export interface Strictness {
  /** Result messages only have to be there, in whatever words. Absent: they are as printed. */
  readonly ownWords?: boolean
}

/**
 * Runs the steps in order. A step that differs does not end the case: the following steps are reported too, if they can
 * run.
 */
export async function runCase(
  testCase: TestCase,
  exchange: Exchanger,
  known: Known = newKnown(),
  { ownWords = false }: Strictness = {},
  now = Date.now,
): Promise<CaseResult> {
  if (testCase.unreadable !== undefined)
    return { testCase, outcome: 'skipped', reason: `cannot be read: ${testCase.unreadable}`, failures: [] }
  const bindings = new Bindings(now())
  const failures: StepFailure[] = []
  for (const [step, { request, response }] of testCase.steps.entries()) {
    const [operation = 'none'] = listOperations(request)
    let sent: TtlvNode | undefined
    try {
      const filled = bindings.fill(request, now())
      sent = nodeOfElement(filled, true)
      const actual = await exchange(sent)
      const exchanged = {
        request: filled,
        response,
        actual,
        version: testCase.version,
        bindings,
        known,
        now: now(),
        ownWords,
      }
      const differences = compareResponse(exchanged)
      if (differences.length > 0) failures.push({ step, differences, sent, received: actual })
    } catch (error) {
      const sentence = error instanceof Error ? error.message : String(error)
      failures.push({ step, differences: [{ operation, path: '', sentence }], sent, received: undefined })
      // Without an answer, or without the values that an earlier one had to bring, the rest means nothing.
      if (!(error instanceof KmipDecodeError) || error instanceof UnboundPlaceholder) break
    }
  }
  return { testCase, outcome: failures.length === 0 ? 'passed' : 'failed', reason: undefined, failures }
}
