import { atLeast, Enumeration, isLegacy, type KmipVersion, Tag, versionNumbers } from '@warder/kmip-codec'
import { definePayload, field, type GivenPayload, repeated, required } from '../../payloads/payload.ts'

/** The members of a Query reply that describe the server as a whole. */
export const described = definePayload({
  profiles: repeated(
    field.group(Tag.ProfileInformation, {
      name: required(field.code(Tag.ProfileName)),
      version: field.group(Tag.ProfileVersion, {
        major: required(field.integer(Tag.ProfileVersionMajor)),
        minor: required(field.integer(Tag.ProfileVersionMinor)),
      }),
    }),
  ),
  capabilities: field.group(Tag.CapabilityInformation, {
    streaming: required(field.boolean(Tag.StreamingCapability)),
    asynchronous: required(field.boolean(Tag.AsynchronousCapability)),
    attestation: required(field.boolean(Tag.AttestationCapability)),
    batchUndo: field.boolean(Tag.BatchUndoCapability),
    batchContinue: field.boolean(Tag.BatchContinueCapability),
    unwrapMode: required(field.named('UnwrapMode')),
    destroyAction: required(field.named('DestroyAction')),
    shreddingAlgorithm: required(field.named('ShreddingAlgorithm')),
    rngMode: required(field.named('RNGMode')),
    quantumSafe: field.boolean(Tag.QuantumSafeCapability),
  }),
})
type Described = GivenPayload<typeof described>

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
export function profiles(version: KmipVersion): Described['profiles'] {
  if (!atLeast(version, '1.3')) return []
  const legacy = isLegacy(version)
  const { major, minor } = versionNumbers(version)
  return profileNames.flatMap((name) => {
    const number = numbers[legacy ? `${name}KMIPV${major}_${minor}` : name]
    return number === undefined ? [] : [{ name: number, version: legacy ? undefined : { major, minor } }]
  })
}

/** QueryCapabilities (KMIP 2.1 §7.5): capabilities of the message layer and of the store. */
export function capabilities(version: KmipVersion): Described['capabilities'] {
  if (!atLeast(version, '1.3')) return undefined
  return {
    streaming: true,
    asynchronous: true,
    attestation: false,
    ...(atLeast(version, '1.4') && { batchUndo: true, batchContinue: true }),
    unwrapMode: 'NotProcessed',
    destroyAction: 'KeyMaterialDeleted',
    shreddingAlgorithm: 'Unsupported',
    rngMode: 'SharedInstantiation',
    ...(atLeast(version, '2.0') && { quantumSafe: true }),
  }
}
