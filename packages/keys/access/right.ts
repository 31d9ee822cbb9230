import { failure } from '@warder/base'
import type { Effect } from '@warder/server'

interface RightRow {
  /** The name of several rights that it is one of. */
  readonly group?: 'Read' | 'UseKey' | 'Modify' | 'Destroy' | 'Authorize'
  /**
   * A crypto officer has it on objects of other users: to manage them and decide which users use them, but not to use
   * them or export their material.
   */
  readonly officer?: true
  /** Its use needs the material, which an archived object does not give (KMIP 2.1 §6.1.4). */
  readonly material?: true
  /**
   * The effects that it permits on its object, for each holder, in whatever combination of requests. Besides, each
   * right reveals that the object exists, its owner and its state.
   */
  readonly reach: readonly Effect[]
}

/**
 * Rights on one object. They are the KMIP operation names in the spelling of the API, and `authorize`, which permits
 * its holder to grant and revoke on the owner's behalf. No right implies another, and a use that has the effect of
 * several operations requires the rights of all of them (docs/adr/rights-and-reach.md).
 */
const table = {
  encrypt: { group: 'UseKey', material: true, reach: ['make ciphertext', 'change limits'] },
  decrypt: { group: 'UseKey', material: true, reach: ['reveal plaintext'] },
  sign: { group: 'UseKey', material: true, reach: ['make signature', 'change limits'] },
  signatureverify: { group: 'UseKey', material: true, reach: ['reveal validity'] },
  mac: { group: 'UseKey', material: true, reach: ['make mac', 'reveal validity', 'change limits'] },
  hash: { reach: [] },
  derivekey: { group: 'UseKey', material: true, reach: ['make derivation'] },
  get: { group: 'Read', material: true, reach: ['reveal material', 'reveal attributes', 'change limits'] },
  getattributes: { group: 'Read', officer: true, reach: ['reveal attributes', 'reveal public'] },
  export: { group: 'Read', material: true, reach: ['reveal material', 'reveal attributes'] },
  import: { reach: [] },
  locate: { group: 'Read', officer: true, reach: ['reveal existence', 'reveal attributes'] },
  certify: { group: 'UseKey', material: true, reach: ['make certificate'] },
  validate: { group: 'Read', officer: true, reach: ['reveal validity'] },
  rekey: { group: 'Modify', material: true, reach: ['change versions', 'make certificate'] },
  activate: { group: 'Modify', officer: true, reach: ['change state'] },
  revoke: { group: 'Destroy', officer: true, reach: ['change state', 'end object', 'end certificate'] },
  destroy: { group: 'Destroy', officer: true, reach: ['change state', 'end object'] },
  addattribute: {
    group: 'Modify',
    officer: true,
    reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  },
  modifyattribute: {
    group: 'Modify',
    officer: true,
    reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  },
  setattribute: {
    group: 'Modify',
    officer: true,
    reach: ['change attributes', 'change tags', 'change state', 'change versions', 'end object'],
  },
  deleteattribute: { group: 'Modify', officer: true, reach: ['change attributes', 'change tags'] },
  authorize: {
    group: 'Authorize',
    officer: true,
    reach: ['change grants', 'reveal grants', 'reveal attributes'],
  },
} as const satisfies Readonly<Record<string, RightRow>>
export type Right = keyof typeof table

const getRow = (right: Right): RightRow => table[right]
export const rights = Object.keys(table) as readonly Right[]
export const officerRights = rightsWith(({ officer }) => officer === true)
export const materialRights = rightsWith(({ material }) => material === true)

/** The effects that a right permits on its object. */
export function getReach(right: Right): ReadonlySet<Effect> {
  return new Set<Effect>(getRow(right).reach)
}

function rightsWith(holds: (row: RightRow) => boolean): ReadonlySet<Right> {
  return new Set(rights.filter((right) => holds(getRow(right))))
}

/** The right to create objects; it is on no object. */
export const createRight = 'create'
/** The right to manage external key stores: to stop one, and to create its credentials. Not on an object either. */
export const externalRight = 'external'
/** The right to read the audit log of the service. Not on an object either. */
export const auditRight = 'audit'
/** Rights that are on no object. */
export const generalRights = [createRight, externalRight, auditRight] as const
export type GeneralRight = (typeof generalRights)[number]
/** Object of grants of general rights, and grantee that means every authenticated user. */
export const anyObject = '*'
export const allUsers = '*'

/** Names of several rights, in the order of the table. */
export const rightGroups: ReadonlyMap<string, readonly Right[]> = Map.groupBy(
  rights.filter((right) => getRow(right).group !== undefined),
  (right) => String(getRow(right).group),
)

/** Reads one name of a grant: a group (`UseKey`), or an operation (`getattributes`, `get_attributes`, `Encrypt`). */
export function parseRights(name: string): readonly (Right | GeneralRight)[] {
  const group = rightGroups.get(name)
  if (group !== undefined) return group
  const plain = name.toLowerCase().replaceAll('_', '')
  const general = generalRights.find((known) => known === plain)
  if (general !== undefined) return [general]
  const right = rights.find((known) => known === plain)
  if (right === undefined) throw failure('bad_request', 'operation_types contains an unknown right.')
  return [right]
}
