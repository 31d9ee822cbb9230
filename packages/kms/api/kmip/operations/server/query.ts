import {
  atLeast,
  Enumeration,
  type KmipVersion,
  type OperationName,
  objectTypeIn,
  operationIn,
  Tag,
} from '@warder/kmip/tables'
import {
  enumeration,
  findMembers,
  integer,
  requireType,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '@warder/kmip/ttlv'
import { readRules } from '../../../../keys/creation/creation-rules-store.ts'
import { randomNumberGenerator } from '../../../../keys/creation/new-object.ts'
import { objectTypes } from '../../../../keys/index.ts'
import { version as serverVersion } from '../../../../version.ts'
import { type KmipOperation, signedIn } from '../../engine/index.ts'
import { capabilities, profiles } from './query-capabilities.ts'

/** VendorIdentification. */
const vendorIdentification = 'Warder'

/**
 * Query (KMIP 2.1 §6.1.40): the capabilities of this server, in the enumerations of the client's version.
 * @param names of the operations in the table
 */
export function queryOperation(names: () => Iterable<OperationName>): KmipOperation {
  return {
    name: 'Query',
    access: signedIn,
    act(payload, { version, services, principal }) {
      const functions = new Set(
        findMembers(payload, Tag.QueryFunction).map((node) => requireType(node, 'Enumeration').value),
      )
      const answerFunctions = (defaults: StructureNode | undefined) =>
        answers.flatMap(([name, answer]) =>
          functions.has(Enumeration.QueryFunction[name]) ? answer(version, names(), defaults) : [],
        )
      if (!functions.has(Enumeration.QueryFunction.QueryDefaultsInformation))
        return answerFunctions(undefined)
      return readRules(services.db, principal.name).then(({ defaults }) => answerFunctions(defaults))
    },
  }
}

type Answer = (
  version: KmipVersion,
  names: Iterable<OperationName>,
  defaults: StructureNode | undefined,
) => readonly TtlvNode[]

/**
 * In the order of the members of the answer (KMIP 2.1 §6.1.40, table 257). Functions without a result get no members:
 * there are no extensions, attestation, validation certificates or registration of clients.
 */
const answers: readonly (readonly [keyof typeof Enumeration.QueryFunction, Answer])[] = [
  ['QueryOperations', listOperations],
  ['QueryObjects', listObjectTypes],
  ['QueryServerInformation', serverInformation],
  ['QueryApplicationNamespaces', () => []],
  ['QueryExtensionList', () => []],
  ['QueryExtensionMap', () => []],
  ['QueryAttestationTypes', () => []],
  ['QueryRNGs', () => [randomNumberGenerator(Tag.RNGParameters)]],
  ['QueryProfiles', profiles],
  ['QueryValidations', () => []],
  ['QueryCapabilities', capabilities],
  ['QueryClientRegistrationMethods', () => []],
  [
    'QueryDefaultsInformation',
    (_version, _names, defaults) => [defaults ?? structure(Tag.DefaultsInformation, [])],
  ],
  ['QueryStorageProtectionMasks', () => [storageMasks()]],
]

function listOperations(version: KmipVersion, names: Iterable<OperationName>): readonly TtlvNode[] {
  return [...names]
    .filter((name) => operationIn(version, name))
    .map((name) => Enumeration.Operation[name])
    .toSorted((one, other) => one - other)
    .map((code) => enumeration(Tag.Operation, code))
}

function listObjectTypes(version: KmipVersion): readonly TtlvNode[] {
  return objectTypes
    .filter((type) => objectTypeIn(version, type))
    .map((type) => Enumeration.ObjectType[type])
    .toSorted((one, other) => one - other)
    .map((code) => enumeration(Tag.ObjectType, code))
}

function serverInformation(version: KmipVersion): readonly TtlvNode[] {
  return [
    textString(Tag.VendorIdentification, vendorIdentification),
    structure(Tag.ServerInformation, atLeast(version, '2.0') ? serverMembers() : []),
  ]
}

function serverMembers(): readonly TtlvNode[] {
  return [
    textString(Tag.ServerName, 'Warder'),
    textString(Tag.ServerVersion, serverVersion),
    textString(Tag.ProductName, 'Warder'),
  ]
}

/** Keys are kept by software, sealed in the database of this server. */
function storageMasks(): StructureNode {
  const { Software, OnSystem } = Enumeration.ProtectionStorageMask
  return structure(Tag.ProtectionStorageMasks, [integer(Tag.ProtectionStorageMask, Software | OnSystem)])
}
