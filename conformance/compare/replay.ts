import { randomBytes, randomUUID } from 'node:crypto'
import type { TtlvNode } from '@warder/kmip-codec'
import { nodeOfElement, type XmlElement } from '@warder/kmip-codec/testing'
import { parseMoment, parsePlaceholder } from '../cases/bindings.ts'
import type { TestCase } from '../cases/test-case.ts'
import type { Exchanger } from '../run/run-case.ts'

/**
 * A server for the tests of the comparison: it returns the printed responses of the case, with its own values for
 * placeholders.
 */
export function replay(
  testCase: TestCase,
  change: (response: XmlElement, step: number) => XmlElement = (response) => response,
  now = Date.now,
): Exchanger {
  const values = new Map<string, string>()
  let step = -1
  const fillElement = (element: XmlElement): XmlElement => {
    const attributes = new Map(element.attributes)
    const value = attributes.get('value')
    const shift = parseMoment(value)
    const name = parsePlaceholder(value)
    if (shift !== undefined) {
      attributes.set('value', new Date((Math.floor(now() / 1000) + shift) * 1000).toISOString())
    } else if (name !== undefined) {
      const isBytes = attributes.get('type') === 'ByteString'
      const chosen = values.get(name) ?? (isBytes ? randomBytes(16).toString('hex') : randomUUID())
      values.set(name, chosen)
      attributes.set('value', chosen)
    }
    return { name: element.name, attributes, children: element.children.map(fillElement) }
  }
  return async (): Promise<TtlvNode> => {
    step += 1
    const response = testCase.steps[step]?.response
    if (response === undefined) throw new Error('the case has no more steps')
    return nodeOfElement(change(fillElement(response), step))
  }
}
