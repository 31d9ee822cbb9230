import {
  type AttributeName,
  covercryptError,
  type NewAttribute,
  parseAttributeName,
  type SecurityMode,
} from '@warder/covercrypt'

/** A change of a master key (ReKeyKeyPair of KMIP, rotation of REST). */
export type RotationAction =
  | { readonly type: 'rekey'; readonly policy: string }
  | { readonly type: 'prune'; readonly policy: string }
  | { readonly type: 'delete'; readonly attributes: readonly AttributeName[] }
  | { readonly type: 'disable'; readonly attributes: readonly AttributeName[] }
  | { readonly type: 'add'; readonly attributes: readonly NewAttribute[] }
  | { readonly type: 'rename'; readonly attributes: readonly (AttributeName & { readonly to: string })[] }

/** Attributes that one action may change. */
const maxChanges = 1000

const readers: Readonly<Record<string, (value: unknown) => RotationAction>> = {
  RekeyAccessPolicy: (value) => ({ type: 'rekey', policy: text(value) }),
  PruneAccessPolicy: (value) => ({ type: 'prune', policy: text(value) }),
  DeleteAttribute: (value) => ({
    type: 'delete',
    attributes: list(value).map((one) => parseAttributeName(text(one))),
  }),
  DisableAttribute: (value) => ({
    type: 'disable',
    attributes: list(value).map((one) => parseAttributeName(text(one))),
  }),
  AddAttribute: (value) => ({ type: 'add', attributes: list(value).map(newAttribute) }),
  RenameAttribute: (value) => ({ type: 'rename', attributes: list(value).map(parseRenaming) }),
}

/** The name that clients before version 5 of the deployed product have for an action. */
const formerNames: Readonly<Record<string, string>> = { RemoveAttribute: 'DeleteAttribute' }

/**
 * Reads an action: an object with exactly one member, such as `{"RekeyAccessPolicy":"Team::Blue"}`.
 *
 * @param value parsed JSON
 * @throws CovercryptError invalid_structure, invalid_policy
 */
export function readAction(value: unknown): RotationAction {
  const [entry, ...more] = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const name = entry && (Object.hasOwn(formerNames, entry[0]) ? formerNames[entry[0]] : entry[0])
  const read = name !== undefined && Object.hasOwn(readers, name) ? readers[name] : undefined
  if (entry === undefined || read === undefined || more.length > 0)
    throw covercryptError(
      'invalid_structure',
      `The action must be an object with one of the members ${Object.keys(readers).join(', ')}.`,
    )
  return read(entry[1])
}

/** Whether user keys change with it. */
export function refreshesUsers({ type }: RotationAction): boolean {
  return type === 'rekey' || type === 'prune' || type === 'delete'
}

/** Whether another attribute has a name afterwards, or none has it: that is for the owner alone. */
export function changesNames({ type }: RotationAction): boolean {
  return type === 'rename' || type === 'add' || type === 'delete'
}

/** Whether secrets are deleted permanently: data that only they decrypt is lost. */
export function forgetsSecrets({ type }: RotationAction): boolean {
  return type === 'prune' || type === 'delete'
}

/** Text of an action for the audit log. */
export function formatAction(action: RotationAction): string {
  if ('policy' in action) return `${action.type} ${action.policy}`
  return `${action.type} ${action.attributes.map(({ dimension, name }) => `${dimension}::${name}`).join(', ')}`
}

function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw wrongShape('a string is missing')
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value) && value.length <= maxChanges) return value
  throw wrongShape(`a list of at most ${maxChanges} entries is missing`)
}

const modes: readonly SecurityMode[] = ['Classic', 'PostQuantum', 'Hybridized']

/** `["Dimension::Name", "Classic", null]`; the third member, which may be absent, names the attribute just below in a hierarchy. */
function newAttribute(value: unknown): NewAttribute {
  const [name, modeName, after = null, ...more] = list(value)
  const mode = modes.find((known) => known === modeName)
  if (mode === undefined || (after !== null && typeof after !== 'string') || more.length > 0)
    throw wrongShape(
      'a new attribute is ["Dimension::Name", "Classic" | "PostQuantum" | "Hybridized", null | "After"]',
    )
  return { ...parseAttributeName(text(name)), mode, after: after ?? undefined }
}

/** `["Dimension::Name", "NewName"]`. */
function parseRenaming(value: unknown): AttributeName & { readonly to: string } {
  const [name, to, ...more] = list(value)
  if (more.length > 0) throw wrongShape('a renaming is ["Dimension::Name", "NewName"]')
  return { ...parseAttributeName(text(name)), to: text(to) }
}

function wrongShape(reason: string): Error {
  return covercryptError('invalid_structure', `The action cannot be read: ${reason}.`)
}
