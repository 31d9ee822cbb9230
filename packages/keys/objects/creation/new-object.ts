import { type AlgorithmPolicy, keyFacts, requirePermitted } from '@warder/crypto'
import {
  boolean,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  sameValue,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import {
  type ManagedObject,
  type MaterialForm,
  type NewObject,
  newObjectDefaults,
  type ObjectType,
} from '../managed-object.ts'
import { asObjectId, isChoosable, newObjectId, type ObjectId } from '../object-id.ts'
import { refusal } from '../refusal.ts'
import type { UnitOfWork } from '../unit-of-work.ts'
import { newSchedule } from '../version-rotate.ts'
import { type AttributeSource, checkValue, requireConsistent, requireRoomFor } from './attribute-checks.ts'
import { type CreationRules, requireRule, requireWithin, withDefaults } from './creation-rules.ts'
import { attributeMembers, commonAttribute, defaultAlgorithm } from './stored-attributes.ts'
import { isTagName, readTags, readVendorName, requireVendorName } from './vendor-name.ts'

/** A new object as an operation specifies it. */
export interface NewObjectRequest {
  readonly type: ObjectType
  /** Columns; see `toStoredKeyKind`. */
  readonly algorithm?: string | undefined
  readonly bits?: number | undefined
  readonly curve?: string | undefined
  readonly boundAlg?: string | undefined
  /** Canonical bytes (see `form` for objects without a canonical form). The caller wipes them. */
  readonly material: Uint8Array | undefined
  /** Attributes from the client, in any order. */
  readonly attributes: readonly TtlvNode[]
  /** Source of the attributes. */
  readonly source?: AttributeSource
  /** Attributes that the server sets; they replace those of the client. */
  readonly given?: readonly TtlvNode[]
  /** Form of the material if type and algorithm do not determine it. Default: canonical. */
  readonly form?: MaterialForm
  /** Set for halves of a pair that link to each other; otherwise the client's identifier or a new one. */
  readonly id?: ObjectId
  readonly linkedId?: ObjectId | undefined
  /** true: generated here, so that its date of creation and its random number generator are known. */
  readonly generated?: boolean
  /** CryptographicUsageMask if the client sets none. */
  readonly defaultMask?: number
}

/** Attributes that have a column, or are the object itself. */
const columns: ReadonlySet<number> = new Set([
  Tag.UniqueIdentifier,
  Tag.ObjectType,
  Tag.CryptographicLength,
  Tag.CryptographicUsageMask,
  Tag.ActivationDate,
  Tag.DeactivationDate,
])

/** Maximum number of attributes without a column of one object. */
const maxAttributes = 1000

/**
 * Stages a new object owned by the caller: Active if its activation date has passed, else Pre-Active (KMIP 2.1 §4.57).
 * @throws Refusal for attributes that a client cannot set so, Failure unsupported_algorithm for keys that the
 *   policy forbids
 */
export function stageNewObject(
  context: CreationContext & { readonly objects: UnitOfWork },
  wanted: NewObjectRequest,
): ManagedObject {
  const request = { ...wanted, attributes: withDefaults(context.rules, wanted.type, wanted.attributes) }
  return context.objects.create(buildNewObject(context, request))
}

/** Context of the creation of an object, besides the request. */
export interface CreationContext {
  readonly rules: CreationRules
  /** Unix milliseconds. */
  readonly now: number
  readonly services: { readonly policy: AlgorithmPolicy }
  readonly principal: { readonly name: string }
}

/** Builds the object that `stageNewObject` stages, for operations that change it first. */
export function buildNewObject(context: CreationContext, request: NewObjectRequest): NewObject {
  const { type, given = [], now } = { ...request, now: context.now }
  const read = readAttributes(request, now)
  const { algorithm, bits, curve } = request
  requirePermitted(context.services.policy, keyFacts({ algorithm, bits, curve }))
  const ours = new Set(given.map(({ tag }) => tag))
  const kept = read.stored.filter(({ tag }) => !ours.has(tag))
  requireWithin(context.rules, type, [
    ...request.attributes.filter(({ tag }) => !ours.has(tag) && tag !== Tag.CryptographicLength),
    ...given,
    ...(bits === undefined ? [] : [integer(Tag.CryptographicLength, bits)]),
  ])
  const told = given.filter((node) => !isImplied(node, request))
  const stored = [...kept, ...told, ...latches(kept), ...automatic(kept), ...origin(request, now)]
  const { activationAt } = read
  const object = {
    ...newObjectDefaults,
    id: request.id ?? read.id ?? newObjectId(now),
    type,
    algorithm,
    bits,
    curve,
    boundAlg: request.boundAlg,
    state: activationAt !== undefined && activationAt <= now ? 'Active' : 'PreActive',
    owner: context.principal.name,
    usageMask: read.usageMask ?? request.defaultMask ?? 0,
    linkedId: request.linkedId,
    createdAt: now,
    activationAt,
    deactivationAt: read.deactivationAt,
    form: request.form ?? {},
    ...attributeMembers(stored),
  } as const
  const chosenId = object.id === read.id ? { by: object.owner, isMoved: false } : undefined
  return {
    // Most objects have no schedule.
    object: stored.some(({ tag }) => tag === Tag.RotateInterval)
      ? { ...object, ...newSchedule(object) }
      : object,
    material: request.material,
    tags: read.tags,
    ...(chosenId !== undefined && { chosenId }),
  }
}

/** Attributes that `listAttributes` derives from the columns and the type are not stored. */
function isImplied(node: TtlvNode, { type, algorithm, boundAlg }: NewObjectRequest): boolean {
  if (node.tag === Tag.KeyFormatType)
    return type === 'SymmetricKey' && node.value === Enumeration.KeyFormatType.Raw
  if (node.tag !== Tag.CryptographicAlgorithm) return false
  const implied = defaultAlgorithm({ algorithm, boundAlg })
  return implied !== undefined && sameValue(node, implied)
}

interface ReadAttributes {
  readonly id: ObjectId | undefined
  readonly usageMask: number | undefined
  readonly activationAt: number | undefined
  readonly deactivationAt: number | undefined
  readonly tags: readonly string[]
  readonly stored: readonly TtlvNode[]
}

/** Sorts the client's attributes into columns and stored attributes. */
function readAttributes({ type, bits, attributes, source }: NewObjectRequest, now: number): ReadAttributes {
  if (attributes.length > maxAttributes)
    throw refusal('ServerLimitExceeded', `An object has at most ${maxAttributes} attributes.`)
  const once = new Map<number, TtlvNode>()
  const stored: TtlvNode[] = []
  let tags: readonly string[] = []
  for (const node of attributes) {
    const rule = requireRule(node.tag)
    const itself = node.tag === Tag.UniqueIdentifier || node.tag === Tag.ObjectType
    if (rule.readOnly && !itself) throw refusal('AttributeReadOnly', 'DENIED')
    if (!rule.multiple && once.has(node.tag)) throw refusal('AttributeSingleValued', 'DENIED')
    once.set(node.tag, node)
    if (itself || columns.has(node.tag)) {
      if (node.type !== rule.type) throw refusal('InvalidAttributeValue', `${rule.name} is of another type.`)
      continue
    }
    if (!rule.appliesTo.has(type))
      throw refusal('InvalidAttribute', `${rule.name} is no attribute of an object of type ${type}.`)
    const value = checkValue(rule, node, source)
    if (node.tag === Tag.Attribute) {
      requireVendorName(node, source)
      const named = readVendorName(node)
      if (named !== undefined && isTagName(named)) {
        tags = readTags(node)
        continue
      }
    }
    stored.push(value)
  }
  const saidType = readNumber(once.get(Tag.ObjectType))
  if (saidType !== undefined && saidType !== Enumeration.ObjectType[type])
    throw refusal('InvalidField', 'The attribute ObjectType is not the type of the object.')
  const length = readNumber(once.get(Tag.CryptographicLength))
  if (length !== undefined && bits !== undefined && length !== bits)
    throw refusal('InvalidField', `CryptographicLength is not that of the key, which has ${bits} bits.`)
  const activationAt = readTime(once.get(Tag.ActivationDate), now)
  const deactivationAt = readTime(once.get(Tag.DeactivationDate), now)
  requireConsistent([
    ...stored,
    ...(activationAt === undefined ? [] : [dateTime(Tag.ActivationDate, Math.floor(activationAt / 1000))]),
    ...(deactivationAt === undefined
      ? []
      : [dateTime(Tag.DeactivationDate, Math.floor(deactivationAt / 1000))]),
  ])
  requireRoomFor(stored, tags)
  return {
    id: readClientId(attributes),
    usageMask: readNumber(once.get(Tag.CryptographicUsageMask)),
    activationAt,
    deactivationAt,
    tags,
    stored,
  }
}

/**
 * The identifier that the client requests for a new object. The commit fails if it is taken.
 * @throws Refusal InvalidAttributeValue
 */
export function readClientId(attributes: readonly TtlvNode[]): ObjectId | undefined {
  const node = attributes.find(({ tag }) => tag === Tag.UniqueIdentifier)
  if (node === undefined) return undefined
  const id = node.type === 'TextString' && node.value !== '*' ? asObjectId(node.value) : undefined
  if (id === undefined)
    throw refusal('InvalidAttributeValue', 'UniqueIdentifier cannot be that of an object.')
  if (!isChoosable(id))
    throw refusal('InvalidAttributeValue', 'UniqueIdentifier cannot begin as an alias of a key does.')
  return id
}

function readNumber(node: TtlvNode | undefined): number | undefined {
  return typeof node?.value === 'number' ? node.value : undefined
}

/** A date as milliseconds. KMIP 2.1 §4.1: a date of 0 means now. */
function readTime(node: TtlvNode | undefined, now: number): number | undefined {
  const seconds = readNumber(node)
  if (seconds === undefined) return undefined
  return seconds === 0 ? now : seconds * 1000
}

/** AlwaysSensitive and NeverExtractable start with the initial state of the object (KMIP 2.1 §4.3, §4.33). */
function latches(stored: readonly TtlvNode[]): readonly TtlvNode[] {
  const sensitive = stored.find(({ tag }) => tag === Tag.Sensitive)?.value === true
  const extractable = stored.find(({ tag }) => tag === Tag.Extractable)?.value !== false
  return [
    ...(sensitive ? [boolean(Tag.AlwaysSensitive, true)] : []),
    ...(extractable ? [] : [boolean(Tag.NeverExtractable, true)]),
  ]
}

/** An interval above zero enables rotation, unless the client sets that attribute itself (KMIP 2.1 §4.54). */
function automatic(stored: readonly TtlvNode[]): readonly TtlvNode[] {
  if (stored.some(({ tag }) => tag === Tag.RotateAutomatic)) return []
  const every = stored.find(({ tag }) => tag === Tag.RotateInterval)
  return every?.type === 'Interval' && every.value > 0 ? [boolean(Tag.RotateAutomatic, true)] : []
}

const generator = commonAttribute(randomNumberGenerator(Tag.RandomNumberGenerator))

/** Origin of a generated key: OpenSSL's generator, CTR_DRBG with AES-256 (SP 800-90A §10.2). */
function origin({ generated }: NewObjectRequest, now: number): readonly TtlvNode[] {
  if (generated !== true) return []
  return [dateTime(Tag.OriginalCreationDate, Math.floor(now / 1000)), generator]
}

/** This server's random number generator, as an attribute or in the answer to Query (KMIP 2.1 §7.36). */
export function randomNumberGenerator(tag: number): TtlvNode {
  return structure(tag, [
    enumeration(Tag.RNGAlgorithm, Enumeration.RNGAlgorithm.DRBG),
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
    integer(Tag.CryptographicLength, 256),
    enumeration(Tag.DRBGAlgorithm, Enumeration.DRBGAlgorithm.CTR),
  ])
}
