import { failure } from '@warder/foundation/errors'

/**
 * Rights on one object. They are the KMIP operation names in the spelling of the API, and `authorize`, which lets its
 * holder grant and revoke on the owner's behalf. No right implies another.
 */
export const rights = [
  'encrypt',
  'decrypt',
  'sign',
  'signatureverify',
  'mac',
  'hash',
  'derivekey',
  'get',
  'getattributes',
  'export',
  'import',
  'locate',
  'certify',
  'validate',
  'rekey',
  'activate',
  'revoke',
  'destroy',
  'addattribute',
  'modifyattribute',
  'setattribute',
  'deleteattribute',
  'authorize',
] as const
export type Right = (typeof rights)[number]

/** The right to create objects; it is on no object. */
export const createRight = 'create'
/** Where grants of `create` are kept, and everybody who is authenticated. */
export const anyObject = '*'
export const everybody = '*'

const groups: Readonly<Record<string, readonly Right[]>> = {
  Read: ['get', 'getattributes', 'export', 'locate', 'validate'],
  UseKey: ['encrypt', 'decrypt', 'sign', 'signatureverify', 'mac', 'derivekey', 'certify'],
  Modify: ['addattribute', 'modifyattribute', 'setattribute', 'deleteattribute', 'activate', 'rekey'],
  Destroy: ['revoke', 'destroy'],
  Authorize: ['authorize'],
}

/** Reads one name of a grant: a group (`UseKey`), or an operation (`getattributes`, `get_attributes`, `Encrypt`). */
export function parseRights(name: string): readonly (Right | typeof createRight)[] {
  if (Object.hasOwn(groups, name)) return groups[name] ?? []
  const plain = name.toLowerCase().replaceAll('_', '')
  if (plain === createRight) return [createRight]
  const right = rights.find((known) => known === plain)
  if (right === undefined) throw failure('bad_request', 'operation_types names an unknown right.')
  return [right]
}
