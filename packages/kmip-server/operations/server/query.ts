import { version as serverVersion } from '@warder/base'
import { objectTypes, randomNumberGenerator, readRules } from '@warder/keys'
import {
  atLeast,
  Enumeration,
  isLegacy,
  type KmipVersion,
  kmipVersion,
  listVersions,
  type OperationName,
  objectTypeIn,
  operationIn,
  type StructureNode,
  structure,
  Tag,
  type ValueName,
  valueName,
  versionNumbers,
} from '@warder/kmip-codec'
import { defineOperation, signedIn } from '../../engine/operation.ts'
import { definePayload, field, type GivenPayload, repeated, required } from '../../payloads/payload.ts'

/** VendorIdentification. */
const vendorIdentification = 'Warder'

/** The members of a Query reply that describe the server as a whole. */
const described = definePayload({
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

const reply = definePayload({
  operations: repeated(field.code(Tag.Operation)),
  objectTypes: repeated(field.code(Tag.ObjectType)),
  vendorIdentification: field.text(Tag.VendorIdentification),
  serverInformation: field.group(Tag.ServerInformation, {
    name: field.text(Tag.ServerName),
    version: field.text(Tag.ServerVersion),
    product: field.text(Tag.ProductName),
  }),
  rngParameters: field.node(Tag.RNGParameters, 'Structure'),
  ...described.fields,
  defaultsInformation: field.structure(Tag.DefaultsInformation),
  storageMasks: field.group(Tag.ProtectionStorageMasks, {
    masks: repeated(field.integer(Tag.ProtectionStorageMask)),
  }),
})
type Reply = GivenPayload<typeof reply>

/**
 * Query (KMIP 2.1 §6.1.40): the capabilities of this server, in the enumerations of the client's version.
 * @param names of the operations in the table
 */
export function queryOperation(names: () => Iterable<OperationName>) {
  return defineOperation({
    name: 'Query',
    reach: ['reveal public'],
    access: signedIn,
    request: definePayload({ functions: repeated(field.code(Tag.QueryFunction)) }),
    reply,
    handle({ functions }, { version, services, principal }) {
      const hasHsm = (services.keys.hsms?.list.length ?? 0) > 0
      const answerFunctions = (defaults: StructureNode | undefined): Reply =>
        Object.assign(
          {},
          ...functions.map((code) => {
            const name = valueName('QueryFunction', code)
            return name === undefined ? undefined : answers[name]?.(version, names(), defaults, hasHsm)
          }),
        )
      if (!functions.includes(Enumeration.QueryFunction.QueryDefaultsInformation))
        return answerFunctions(undefined)
      return readRules(services.db, principal.name).then(({ defaults }) => answerFunctions(defaults))
    },
  })
}

type Answer = (
  version: KmipVersion,
  names: Iterable<OperationName>,
  defaults: StructureNode | undefined,
  hasHsm: boolean,
) => Reply

/**
 * Functions that are not here get no members: there are no application namespaces, extensions, attestation,
 * validations or registration of clients.
 */
const answers: Readonly<Partial<Record<ValueName<'QueryFunction'>, Answer>>> = {
  QueryOperations: (version, names) => ({ operations: listOperations(version, names) }),
  QueryObjects: (version) => ({ objectTypes: listObjectTypes(version) }),
  QueryServerInformation: serverInformation,
  QueryRNGs: () => ({ rngParameters: randomNumberGenerator(Tag.RNGParameters) }),
  QueryProfiles: (version) => ({ profiles: profiles(version) }),
  QueryCapabilities: (version) => ({ capabilities: capabilities(version) }),
  QueryDefaultsInformation: (_version, _names, defaults) => ({
    defaultsInformation: defaults ?? structure(Tag.DefaultsInformation, []),
  }),
  QueryStorageProtectionMasks: (_version, _names, _defaults, hasHsm) => ({
    storageMasks: { masks: [Software | OnSystem, ...(hasHsm ? [Hardware] : [])] },
  }),
}

/** Keys are sealed by software in the database of this server, or stay in an HSM of its settings. */
const { Software, OnSystem, Hardware } = Enumeration.ProtectionStorageMask

function listOperations(version: KmipVersion, names: Iterable<OperationName>): readonly number[] {
  return [...names]
    .filter((name) => operationIn(version, name))
    .map((name) => Enumeration.Operation[name])
    .toSorted((one, other) => one - other)
}

function listObjectTypes(version: KmipVersion): readonly number[] {
  return objectTypes
    .filter((type) => objectTypeIn(version, type))
    .map((type) => Enumeration.ObjectType[type])
    .toSorted((one, other) => one - other)
}

function serverInformation(version: KmipVersion): Reply {
  const serverInformation = atLeast(version, '2.0')
    ? { name: 'Warder', version: serverVersion, product: 'Warder' }
    : {}
  return { vendorIdentification, serverInformation }
}

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
function profiles(version: KmipVersion): Described['profiles'] {
  if (!atLeast(version, '1.3')) return []
  const legacy = isLegacy(version)
  const { major, minor } = versionNumbers(version)
  return profileNames.flatMap((name) => {
    const number = numbers[legacy ? `${name}KMIPV${major}_${minor}` : name]
    return number === undefined ? [] : [{ name: number, version: legacy ? undefined : { major, minor } }]
  })
}

/** QueryCapabilities (KMIP 2.1 §7.5): capabilities of the message layer and of the store. */
function capabilities(version: KmipVersion): Described['capabilities'] {
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

const versions = definePayload({
  versions: repeated(
    field.group(Tag.ProtocolVersion, {
      major: required(field.integer(Tag.ProtocolVersionMajor)),
      minor: required(field.integer(Tag.ProtocolVersionMinor)),
    }),
  ),
})

/** DiscoverVersions (KMIP 2.1 §6.1.16): the supported versions of the client's list, in the client's order. */
export const discoverVersions = defineOperation({
  name: 'DiscoverVersions',
  reach: ['reveal public'],
  access: signedIn,
  request: versions,
  reply: versions,
  handle({ versions: asked }, { services: { kmipDraft } }) {
    const known = asked.map(({ major, minor }) => kmipVersion(major, minor, kmipDraft))
    const common =
      asked.length === 0 ? listVersions(kmipDraft) : new Set(known.filter((version) => version !== undefined))
    return { versions: [...common].map(versionNumbers) }
  },
})
