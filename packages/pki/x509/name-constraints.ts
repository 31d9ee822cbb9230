import { contextTag, type DerElement, der, derElements, derMembers, derSequence } from '../asn1/der.ts'
import { pkiError } from '../error.ts'
import { type Extension, extensionIdentifiers, extensionValue } from './extensions.ts'
import { type ReadGeneralName, readGeneralName } from './general-name.ts'

/** DER of the GeneralNames that are the subtrees (see `constraintName` and `directoryName`). */
export interface NewNameConstraints {
  readonly permitted?: readonly Uint8Array[]
  readonly excluded?: readonly Uint8Array[]
}

/** Name constraints of an authority (RFC 5280 §4.2.1.10): critical. @throws PkiError */
export function nameConstraints({ permitted = [], excluded = [] }: NewNameConstraints): Extension {
  if (permitted.length + excluded.length === 0)
    throw pkiError('invalid_value', 'Name constraints must permit or exclude at least one name.')
  const subtrees = (number: number, bases: readonly Uint8Array[]) =>
    bases.length === 0 ? [] : [der(contextTag(number), ...bases.map((base) => derSequence(base)))]
  return {
    identifier: extensionIdentifiers.nameConstraints,
    critical: true,
    value: derSequence(...subtrees(0, permitted), ...subtrees(1, excluded)),
  }
}

export interface NameConstraints {
  readonly permitted: readonly ReadGeneralName[]
  readonly excluded: readonly ReadGeneralName[]
}

const what = 'nameConstraints'

/** @throws PkiError, also for subtrees with a minimum or maximum, which RFC 5280 §4.2.1.10 forbids */
export function readNameConstraints(extensions: readonly Extension[]): NameConstraints | undefined {
  const value = extensionValue(extensions, extensionIdentifiers.nameConstraints)
  if (value === undefined) return undefined
  const members = derMembers(value, what)
  if (members.some(({ tag }) => tag !== contextTag(0) && tag !== contextTag(1)))
    throw pkiError('malformed', `${what} has an unknown member.`)
  const subtrees = (number: number) =>
    members
      .filter(({ tag }) => tag === contextTag(number))
      .flatMap(({ content }) => derElements(content, what))
  return { permitted: subtrees(0).map(subtree), excluded: subtrees(1).map(subtree) }
}

function subtree(element: DerElement): ReadGeneralName {
  const [base, bound] = derMembers(element.whole, what)
  if (base === undefined || bound !== undefined)
    throw pkiError('malformed', `${what} has a subtree with a minimum or maximum.`)
  return readGeneralName(base)
}
