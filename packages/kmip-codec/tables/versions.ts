/** The versions that are spoken, newest first: the order in which DiscoverVersions names them (KMIP 2.1 §6.1.16). */
export const kmipVersions = ['2.1', '2.0', '1.4', '1.3', '1.2', '1.1', '1.0'] as const

export type KmipVersion = (typeof kmipVersions)[number]

/** The version of these numbers, or undefined when it is not spoken. */
export function kmipVersion(major: number, minor: number): KmipVersion | undefined {
  return kmipVersions.find((version) => version === `${major}.${minor}`)
}

/** The two numbers of a version, as ProtocolVersion carries them. */
export function versionNumbers(version: KmipVersion): { readonly major: number; readonly minor: number } {
  return { major: version.charCodeAt(0) - 0x30, minor: version.charCodeAt(2) - 0x30 }
}

/** Is `version` the same as or newer than `other`? */
export function atLeast(version: KmipVersion, other: KmipVersion): boolean {
  return version >= other
}

/** 1.x carries attributes as name, index and value; 2.x carries them as typed tags. */
export function isLegacy(version: KmipVersion): boolean {
  return version < '2.0'
}
