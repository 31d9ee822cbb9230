import {
  attributeMembers,
  attributeRule,
  checkValue,
  type NewObject,
  readStoredAttributes,
  requireRoomFor,
  requireRule,
  type State,
} from '@warder/keys'
import { dateTime, findMember, Tag, type TtlvNode, valueName } from '@warder/kmip-codec'
import { kmipFailure } from '../../failure/failure.ts'

type Described = NewObject['object']

/** Life cycle columns of an object that is imported from another server. */
type Life = Partial<
  Pick<
    Described,
    | 'state'
    | 'createdAt'
    | 'activationAt'
    | 'deactivationAt'
    | 'compromisedAt'
    | 'revocationReason'
    | 'revocationMessage'
  >
>

/** Attributes that describe the stored object, regardless of the values from the other server. */
const localAttributes: ReadonlySet<number> = new Set([
  Tag.ShortUniqueIdentifier,
  Tag.LastChangeDate,
  Tag.Digest,
  Tag.KeyValuePresent,
  Tag.CertificateType,
  Tag.CertificateIdentifier,
  Tag.CertificateIssuer,
  Tag.CertificateLength,
  Tag.CertificateSubject,
  Tag.X_509CertificateIdentifier,
  Tag.X_509CertificateSubject,
  Tag.X_509CertificateIssuer,
  Tag.DigitalSignatureAlgorithm,
  Tag.ProtectionStorageMask,
  Tag.DestroyDate,
])

export interface SortedAttributes {
  /** Attributes that any client may set on a new object. */
  readonly ordinary: readonly TtlvNode[]
  /** Attributes that only servers set: stored as received (KMIP 2.1 §6.1.25). */
  readonly kept: readonly TtlvNode[]
  readonly life: Life
  /** Unix milliseconds; not a column, but a member of the stored attributes (see Archive). */
  readonly archivedAt: number | undefined
}

/**
 * Sorts the attributes of an Import, in which a client may send attributes that otherwise only servers set.
 * @throws InvalidField for a state that an object with its material cannot have; InvalidAttributeValue,
 *   AttributeSingleValued for invalid values
 */
export function sortImported(attributes: readonly TtlvNode[]): SortedAttributes {
  const ordinary: TtlvNode[] = []
  const kept: TtlvNode[] = []
  let life: Life = {}
  let archivedAt: number | undefined
  for (const node of attributes) {
    const own = readLife(node)
    if (own !== undefined) life = { ...life, ...own }
    else if (node.tag === Tag.ArchiveDate) archivedAt = readTime(node)
    else if (localAttributes.has(node.tag) || isNamePart(node.tag)) continue
    else if (attributeRule(node.tag)?.readOnly === true && !itself.has(node.tag))
      kept.push(checkKept(node, kept))
    else ordinary.push(node)
  }
  return { ordinary, kept, life, archivedAt }
}

/** Checks the type of the value and the number of instances, also for attributes from another server. */
function checkKept(node: TtlvNode, before: readonly TtlvNode[]): TtlvNode {
  const rule = requireRule(node.tag)
  if (!rule.multiple && before.some(({ tag }) => tag === node.tag))
    throw kmipFailure('AttributeSingleValued', 'DENIED')
  return checkValue(rule, node)
}

/** @throws InvalidAttributeValue */
function readTime(node: TtlvNode): number | undefined {
  const { type, value } = checkValue(requireRule(node.tag), node)
  return type === 'DateTime' ? value * 1000 : undefined
}

const itself: ReadonlySet<number> = new Set([Tag.UniqueIdentifier, Tag.ObjectType])

function isNamePart(tag: number): boolean {
  return /^Certificate(Subject|Issuer)./.test(attributeRule(tag)?.name ?? '')
}

function readLife(node: TtlvNode): Life | undefined {
  const at = node.type === 'DateTime' ? node.value * 1000 : undefined
  switch (node.tag) {
    case Tag.State: {
      const name = node.type === 'Enumeration' ? valueName('State', node.value) : undefined
      if (name === undefined || name.startsWith('Destroyed'))
        throw kmipFailure('InvalidField', 'A destroyed object cannot be imported.')
      return { state: name as State }
    }
    case Tag.InitialDate:
      return at === undefined ? {} : { createdAt: at }
    case Tag.CompromiseDate:
      return at === undefined ? {} : { compromisedAt: at }
    case Tag.RevocationReason: {
      if (node.type !== 'Structure') return {}
      const code = findMember(node, Tag.RevocationReasonCode)
      const message = findMember(node, Tag.RevocationMessage)
      return {
        revocationReason:
          code?.type === 'Enumeration' ? valueName('RevocationReasonCode', code.value) : undefined,
        revocationMessage: message?.type === 'TextString' ? message.value.slice(0, 1024) : undefined,
      }
    }
    default:
      return undefined
  }
}

/** Attributes that record that other attributes always had a value. */
const historyTags: ReadonlySet<number> = new Set([Tag.AlwaysSensitive, Tag.NeverExtractable])

/** The object in its state on the other server. */
export function asImported(created: NewObject, sorted: SortedAttributes, now: number): NewObject {
  const { kept, life, archivedAt } = sorted
  const { object } = created
  const state = life.state ?? object.state
  // Values derived here from Sensitive and Extractable ignore the history of the object (KMIP 2.1 §4.3, §4.33).
  const before = readStoredAttributes(object).filter(
    ({ tag }) => !historyTags.has(tag) || !kept.some((node) => node.tag === tag),
  )
  const given = new Set(before.map(({ tag }) => tag))
  const stored = [...before, ...kept.filter(({ tag }) => !given.has(tag))]
  requireRoomFor(stored, created.tags)
  if (!stored.some(({ tag }) => tag === Tag.OriginalCreationDate) && life.createdAt !== undefined)
    stored.push(dateTime(Tag.OriginalCreationDate, Math.floor(life.createdAt / 1000)))
  return {
    ...created,
    object: {
      ...object,
      ...life,
      state,
      // Dates change the state: an object that is Deactivated or Compromised has been Active.
      activationAt: object.activationAt ?? (state === 'Active' ? now : undefined),
      deactivationAt: object.deactivationAt ?? (state === 'Deactivated' ? now : undefined),
      compromisedAt: life.compromisedAt ?? (state === 'Compromised' ? now : undefined),
      archivedAt,
      ...attributeMembers(stored, object),
    },
  }
}
