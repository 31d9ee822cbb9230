import { atLeast, Enumeration, type KmipVersion, Tag, versionNumbers } from '@warder/kmip/tables'
import { boolean, enumeration, integer, structure, type TtlvNode } from '@warder/kmip/ttlv'

type Profile = keyof typeof Enumeration.ProfileName

/** Server profiles of KMIP Profiles 2.1 §5 whose mandatory test cases this server passes. */
const profiles2: readonly Profile[] = [
  'BaselineServer',
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

/** QueryProfiles: those of the client's version (KMIP 2.1 §7.31). Profiles of 2.x name their version beside. */
export function profiles(version: KmipVersion): readonly TtlvNode[] {
  if (!atLeast(version, '1.3')) return []
  if (!atLeast(version, '2.0')) return legacyProfiles(version)
  const { major, minor } = versionNumbers(version)
  return profiles2.map((name) =>
    structure(Tag.ProfileInformation, [
      enumeration(Tag.ProfileName, Enumeration.ProfileName[name]),
      structure(Tag.ProfileVersion, [
        integer(Tag.ProfileVersionMajor, major),
        integer(Tag.ProfileVersionMinor, minor),
      ]),
    ]),
  )
}

const legacyNames = [
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
  'HTTPSServer',
  'JSONServer',
  'XMLServer',
] as const

function legacyProfiles(version: KmipVersion): readonly TtlvNode[] {
  const table: Readonly<Record<string, number>> = Enumeration.ProfileName
  return legacyNames.flatMap((name) => {
    const value = table[`${name}KMIPV${version.replace('.', '_')}`]
    return value === undefined
      ? []
      : [structure(Tag.ProfileInformation, [enumeration(Tag.ProfileName, value)])]
  })
}

/** QueryCapabilities (KMIP 2.1 §7.5): what the envelope and the store do. */
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
