import { version as serverVersion } from '@warder/base'
import { objectTypes, randomNumberGenerator, readRules } from '@warder/keys'
import {
  atLeast,
  Enumeration,
  type KmipVersion,
  type OperationName,
  objectTypeIn,
  operationIn,
  type StructureNode,
  structure,
  Tag,
  type ValueName,
  valueName,
} from '@warder/kmip-codec'
import { signedIn } from '../../engine/access.ts'
import { defineOperation } from '../../engine/operation.ts'
import { definePayload, field, type GivenPayload, repeated, required } from '../../payloads/payload.ts'
import { capabilities, described, profiles } from './query-capabilities.ts'

/** VendorIdentification. */
const vendorIdentification = 'Warder'

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
    mask: required(field.integer(Tag.ProtectionStorageMask)),
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
      const answerFunctions = (defaults: StructureNode | undefined): Reply =>
        Object.assign(
          {},
          ...functions.map((code) => {
            const name = valueName('QueryFunction', code)
            return name === undefined ? undefined : answers[name]?.(version, names(), defaults)
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
  QueryStorageProtectionMasks: () => ({ storageMasks: { mask: Software | OnSystem } }),
}

/** Keys are kept by software, sealed in the database of this server. */
const { Software, OnSystem } = Enumeration.ProtectionStorageMask

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
