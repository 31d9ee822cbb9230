import { atLeast, Enumeration, isLegacy, type KmipVersion, Tag, versionNumbers } from '@warder/kmip/tables'
import { boolean, enumeration, integer, structure, type TtlvNode } from '@warder/kmip/ttlv'

/**
 * Server profiles of KMIP Profiles 2.1 §5 whose mandatory test cases this server passes. Up to 1.4 the name of a
 * profile contains the version: BaselineServerBasicKMIPV1_4.
 */
const profileNames: readonly string[] = [
  'BaselineServer',
  'BaselineServerBasic',
  'SymmetricKeyLifecycleServer',
  'AsymmetricKeyLifecycleServer',
  'SymmetricKeyFoundryServer',
  'BasicCryptographicServer',
  'AdvancedCryptographicServer',
  'RNGCryptographicServer',
  'TapeLibraryServer',
  'OpaqueManagedObjectStoreServer',
  'StorageArrayWithSelfEncryptingDriveServer',
  'QuantumSafeServer',
  'HTTPSServer',
  'JSONServer',
  'XMLServer',
]
const numbers: Readonly<Record<string, number>> = Enumeration.ProfileName

/** QueryProfiles: those of the client's version (KMIP 2.1 §7.31). Profiles of 2.x name their version beside. */
export function profiles(version: KmipVersion): readonly TtlvNode[] {
  if (!atLeast(version, '1.3')) return []
  const legacy = isLegacy(version)
  const { major, minor } = versionNumbers(version)
  return profileNames.flatMap((name) => {
    const number = numbers[legacy ? `${name}KMIPV${major}_${minor}` : name]
    if (number === undefined) return []
    return structure(Tag.ProfileInformation, [
      enumeration(Tag.ProfileName, number),
      legacy
        ? undefined
        : structure(Tag.ProfileVersion, [
            integer(Tag.ProfileVersionMajor, major),
            integer(Tag.ProfileVersionMinor, minor),
          ]),
    ])
  })
}

/** QueryCapabilities (KMIP 2.1 §7.5): capabilities of the message layer and of the store. */
export function capabilities(version: KmipVersion): readonly TtlvNode[] {
  if (!atLeast(version, '1.3')) return []
  const { UnwrapMode, DestroyAction, ShreddingAlgorithm, RNGMode } = Enumeration
  return [
    structure(Tag.CapabilityInformation, [
      boolean(Tag.StreamingCapability, true),
      boolean(Tag.AsynchronousCapability, true),
      boolean(Tag.AttestationCapability, false),
      ...(atLeast(version, '1.4')
        ? [boolean(Tag.BatchUndoCapability, true), boolean(Tag.BatchContinueCapability, true)]
        : []),
      enumeration(Tag.UnwrapMode, UnwrapMode.NotProcessed),
      enumeration(Tag.DestroyAction, DestroyAction.KeyMaterialDeleted),
      enumeration(Tag.ShreddingAlgorithm, ShreddingAlgorithm.Unsupported),
      enumeration(Tag.RNGMode, RNGMode.SharedInstantiation),
      ...(atLeast(version, '2.0') ? [boolean(Tag.QuantumSafeCapability, true)] : []),
    ]),
  ]
}
