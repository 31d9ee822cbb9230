import { encodeXml } from '@warder/kmip-codec/testing'
import type { StepFailure } from '../run/run-case.ts'
import type { WayResults } from './table.ts'

const maxDifferences = 6

/** Every failure by operation, with the request and response of the first one of each case, for its correction. */
export function failuresText(ways: readonly WayResults[]): string {
  const byOperation = new Map<string, string[]>()
  for (const { way, results } of ways) {
    for (const { testCase, failures } of results) {
      for (const [index, failure] of failures.entries()) {
        const [first] = failure.differences
        if (first === undefined) continue
        const lines = byOperation.get(first.operation) ?? []
        byOperation.set(first.operation, lines)
        lines.push(
          `${testCase.name} step ${failure.step} (${way})${index === 0 ? '' : ' (after an earlier failure)'}`,
        )
        for (const { path, sentence } of failure.differences.slice(0, maxDifferences))
          lines.push(`    ${path} ${sentence}`)
        if (index === 0) lines.push(...formatMessages(failure))
      }
    }
  }
  const operations = [...byOperation].sort(([, one], [, other]) => other.length - one.length)
  return operations.map(([operation, lines]) => `=== ${operation}\n${lines.join('\n')}\n`).join('\n')
}

function formatMessages({ sent, received }: StepFailure): readonly string[] {
  const indent = (label: string, text: string): string =>
    `    ${label}\n${text
      .split('\n')
      .map((line) => `      ${line}`)
      .join('\n')}`
  return [
    ...(sent === undefined ? [] : [indent('sent', broken(encodeXml(sent)))]),
    ...(received === undefined ? [] : [indent('received', broken(encodeXml(received)))]),
  ]
}

/** One element a line, long values cut. */
function broken(xml: string): string {
  return xml
    .replaceAll('><', '>\n<')
    .replace(/value="([^"]{200})[^"]*"/g, 'value="$1…"')
    .split('\n')
    .filter((line) => !/ProtocolVersion|BatchCount|TimeStamp|<\/|Header/.test(line))
    .join('\n')
}
