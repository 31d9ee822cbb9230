import { isDraftValue } from './draft.ts'
import { Enumeration } from './enumerations.gen.ts'
import { type ValueName, valueByName, valueName } from './enumerations.ts'
import { atLeast, draftVersion, isLegacy, type KmipVersion } from './versions.ts'

/** The name of an operation as the XML profile spells it: `Create`, `ReKeyKeyPair`, `PKCS_11` … */
export type OperationName = ValueName<'Operation'>

/** The first operation code of each version; new versions only appended codes (KMIP 2.1 §11.36). */
const firstOperations: readonly (readonly [KmipVersion, number])[] = [
  ['3.0', Enumeration.Operation.CreateGroup],
  ['2.1', Enumeration.Operation.SetDefaults],
  ['2.0', Enumeration.Operation.Log],
  ['1.4', Enumeration.Operation.Import],
  ['1.2', Enumeration.Operation.Encrypt],
  ['1.1', Enumeration.Operation.ReKeyKeyPair],
  ['1.0', Enumeration.Operation.Create],
]

/** The operation of this name in any spelling (`Mac`, `MAC`, `rekey`), or undefined. */
export function operationByName(name: string): OperationName | undefined {
  const code = valueByName('Operation', name)
  return code === undefined ? undefined : valueName('Operation', code)
}

/** Whether an operation exists in a version. */
export function operationIn(version: KmipVersion, operation: OperationName): boolean {
  const code = Enumeration.Operation[operation]
  for (const [introduced, first] of firstOperations) if (code >= first) return atLeast(version, introduced)
  return false
}

/** Link types added after 1.0 (Link Type Enumeration of KMIP 1.2, 1.4 and 2.0). */
const linkTypesSince: ReadonlyMap<number, KmipVersion> = new Map([
  [Enumeration.LinkType.ParentLink, '1.2'],
  [Enumeration.LinkType.ChildLink, '1.2'],
  [Enumeration.LinkType.PreviousLink, '1.2'],
  [Enumeration.LinkType.NextLink, '1.2'],
  [Enumeration.LinkType.PKCS_12CertificateLink, '1.4'],
  [Enumeration.LinkType.PKCS_12PasswordLink, '1.4'],
  [Enumeration.LinkType.WrappingKeyLink, '2.0'],
])

/** Whether a link type exists in a version. */
export function linkTypeIn(version: KmipVersion, linkType: number): boolean {
  return atLeast(version, linkTypesSince.get(linkType) ?? '1.0')
}

/**
 * Whether an object type exists in a version. Template exists until 1.4, PGPKey since 1.2, CertificateRequest
 * since 2.0, users, groups and credentials only in 3.0.
 */
export function objectTypeIn(version: KmipVersion, objectType: ValueName<'ObjectType'>): boolean {
  if (isDraftValue('ObjectType', Enumeration.ObjectType[objectType])) return version === draftVersion
  if (objectType === 'Template') return isLegacy(version)
  if (objectType === 'PGPKey') return atLeast(version, '1.2')
  if (objectType === 'CertificateRequest') return atLeast(version, '2.0')
  return true
}
