import { openConnection, type Transport } from 'warder/testing'
import type { TestCase } from '../cases/test-case.ts'
import type { TestServer } from '../server/own-server.ts'
import { type CaseResult, type Exchanger, newKnown, runCase, type Strictness } from './run-case.ts'

/**
 * Runs cases over one way. Each family is a user of its own, so that no case sees another's objects, and its cases run
 * in their order, because some build on the one before (`TL-M-2` on `TL-M-1`); families run side by side.
 */
export async function runCases(
  cases: readonly TestCase[],
  server: TestServer,
  way: Transport,
  strictness: Strictness = {},
): Promise<readonly CaseResult[]> {
  const families = Map.groupBy(cases, ({ family, version }) => `${family}-${version}`)
  const results = new Map<TestCase, CaseResult>()
  const waiting = [...families]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [name, members] = next
      const connection = openConnection(await server.as(`${name}-${way}`), way)
      try {
        const known = newKnown()
        for (const testCase of members) {
          const exchange: Exchanger = (message) => connection.exchange(message)
          results.set(testCase, await runCase(testCase, exchange, known, strictness))
        }
      } finally {
        connection.close()
      }
    }
  }
  await Promise.all(Array.from({ length: server.familiesAtOnce }, work))
  return cases.flatMap((testCase) => results.get(testCase) ?? [])
}
