/**
 * The supported versions, newest first: the order in which DiscoverVersions returns them (KMIP 2.1 §6.1.16).
 */
export const kmipVersions = ['2.1', '2.0', '1.4', '1.3', '1.2', '1.1', '1.0'] as const

/** The committee draft, which is served only with `kmip_draft_3_0`. */
export const draftVersion = '3.0'

export type KmipVersion = (typeof kmipVersions)[number] | typeof draftVersion

/** The supported versions, newest first. @param draft with the draft */
export function listVersions(draft: boolean): readonly KmipVersion[] {
  return draft ? [draftVersion, ...kmipVersions] : kmipVersions
}

/** The version of these numbers, or undefined if it is not supported. @param draft with the draft */
export function kmipVersion(major: number, minor: number, draft = false): KmipVersion | undefined {
  return listVersions(draft).find((version) => version === `${major}.${minor}`)
}

/** The two numbers of a version, as in ProtocolVersion. */
export function versionNumbers(version: KmipVersion): { readonly major: number; readonly minor: number } {
  return { major: version.charCodeAt(0) - 0x30, minor: version.charCodeAt(2) - 0x30 }
}

/** Whether `version` is the same as `other` or newer. */
export function atLeast(version: KmipVersion, other: KmipVersion): boolean {
  return version >= other
}

/** In 1.x attributes consist of name, index and value; in 2.x they are typed tags. */
export function isLegacy(version: KmipVersion): boolean {
  return version < '2.0'
}
