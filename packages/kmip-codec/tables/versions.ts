/**
 * The supported versions, newest first: the order in which DiscoverVersions returns them (KMIP 2.1 §6.1.16).
 */
export const kmipVersions = ['2.1', '2.0', '1.4', '1.3', '1.2', '1.1', '1.0'] as const

export type KmipVersion = (typeof kmipVersions)[number]

/** The version of these numbers, or undefined if it is not supported. */
export function kmipVersion(major: number, minor: number): KmipVersion | undefined {
  return kmipVersions.find((version) => version === `${major}.${minor}`)
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
