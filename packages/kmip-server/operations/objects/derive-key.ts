import {
  type AlgorithmPolicy,
  type Derivation,
  type DerivationMethod,
  deriveKey as derive,
  joseDerivation,
  noParameters,
} from '@warder/crypto'
import {
  allows,
  attributeMembers,
  type ManagedObject,
  readStoredAttributes,
  requireUse,
  takeUse,
  type Usage,
  unrestricted,
} from '@warder/keys'
import { Tag, type TtlvNode } from '@warder/kmip-codec'
import { readLength, requireAlgorithm } from '../../attributes/wanted-key.ts'
import { readParameters } from '../../crypto/parameters.ts'
import { requireExportApproval, requireExtractable } from '../../engine/approval.ts'
import { defineOperation, namedObject, objectReply, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { requireBinding } from '../../key-blocks/key-binding.ts'
import { readAlgorithm } from '../../key-blocks/object-shape.ts'
import { type DecodedPayload, definePayload, field, repeated, required } from '../../payloads/payload.ts'
import { requireRight } from '../crypto/key-use.ts'
import { keyNode } from './key-node.ts'
import { newBrought, readBrought } from './registered-object.ts'
import { link } from './replacement.ts'

const request = definePayload({
  objectType: required(field.named('ObjectType')),
  uniqueIdentifiers: repeated(namedObject),
  method: required(field.named('DerivationMethod')),
  parameters: field.group(Tag.DerivationParameters, {
    parameters: field.structure(Tag.CryptographicParameters),
    initializationVector: field.bytes(Tag.InitializationVector),
    derivationData: field.bytes(Tag.DerivationData),
    salt: field.bytes(Tag.Salt),
    iterationCount: field.integer(Tag.IterationCount),
  }),
  attributes: field.attributes(Tag.Attributes),
})
type Request = DecodedPayload<typeof request>

/**
 * DeriveKey (KMIP 2.1 §6.1.14): derives a symmetric key or secret data from a key, from secret data, or by key
 * agreement of two keys. A second identifier names secret data to derive from, or the other key.
 */
export const deriveKey = defineOperation({
  name: 'DeriveKey',
  reach: ['make derivation', 'make object'],
  asks: ['derivekey', 'encrypt', 'decrypt', 'mac', 'get'],
  access: objectRight('derivekey', { creates: true }),
  request,
  reply: objectReply,
  async handle(asked, context) {
    const { objectType: type, attributes, method } = asked
    if (type !== 'SymmetricKey' && type !== 'SecretData')
      throw kmipFailure('InvalidField', `DeriveKey cannot create objects of type ${type}.`)
    const bits = readLength(attributes)
    if (bits === undefined) throw kmipFailure('MissingData', 'CryptographicLength is missing.')
    if (bits % 8 !== 0) throw kmipFailure('InvalidField', 'CryptographicLength must be a multiple of 8 bits.')
    const algorithm = type === 'SymmetricKey' ? requireAlgorithm(attributes) : undefined
    const bases = await findBases(asked, context)
    const material = await deriveObject(asked, bases, bits / 8, context)
    try {
      const node = keyNode({ type, material, algorithm, bits, secretDataType: 'Seed' })
      const brought = await readBrought(type, node, attributes, context)
      const made = context.objects.create(newBrought(context, brought, attributes))
      brought.material?.fill(0)
      linkDerived(context, bases, made)
      context.audit({
        object: made.id,
        algorithm: method,
        details: { derived_from: bases.map(({ id }) => id) },
      })
      context.placeholder = made.id
      return { uniqueIdentifier: made.id }
    } finally {
      material.fill(0)
    }
  },
})

/** Objects to derive from: that of the row, and that of a second identifier. */
async function findBases(
  { uniqueIdentifiers: [, second, third] }: Request,
  context: KmipContext,
): Promise<readonly ManagedObject[]> {
  if (third !== undefined) throw kmipFailure('InvalidField', 'A key can be derived from at most two objects.')
  if (second === undefined) return [context.object]
  const other = await context.permitted(context.identifier(second), 'derivekey')
  if (other.id === context.object.id) throw kmipFailure('InvalidField', 'The same object is given twice.')
  return [context.object, other]
}

async function deriveObject(
  { method, parameters: asked }: Request,
  bases: readonly ManagedObject[],
  length: number,
  context: KmipContext,
): Promise<Buffer> {
  const { key, data } = sortBases(bases)
  // A user who knows the encryption key can decrypt the derived key to the data.
  if (method === 'ENCRYPT' && data !== undefined) await requireMayLeave(context, data)
  for (const base of bases) requireDerivable(context, base, method)
  const read = asked === undefined ? nothingAsked : readDerivation(asked)
  const { policy } = context.services
  requireDerivationBinding(method, read, bases, policy)
  await requireDerivationRights(context, method, key, bases)
  for (const base of bases) takeUse(context, base, length, true)
  if (method === 'AsymmetricKey') {
    const { own, other } = await findAgreement(bases, context)
    return own.agree(other, { ...read, method, algorithm: undefined, length }, policy)
  }
  const more = data === undefined ? undefined : await readMaterial(data, context)
  try {
    if (more !== undefined && read.derivationData !== undefined)
      throw kmipFailure('InvalidField', 'DerivationData and secret data exclude each other.')
    const derivationData = read.derivationData ?? more
    const derivation = { ...read, derivationData, method, length }
    if (key.type === 'SymmetricKey' && key.form.format === undefined && key.form.wrapped !== true) {
      const opened = await context.objects.key(key.id)
      if (opened === undefined || opened.keyless) throw noValue()
      return await opened.held.derive({ ...derivation, algorithm: readAlgorithm(key) }, policy)
    }
    return await fromSecretData(key, derivation, context)
  } finally {
    more?.fill(0)
  }
}

async function fromSecretData(
  object: ManagedObject,
  derivation: Omit<Derivation, 'secret' | 'agreement' | 'algorithm'>,
  context: KmipContext,
): Promise<Buffer> {
  const secret = await readMaterial(object, context)
  try {
    const whole = { ...derivation, secret, algorithm: undefined, agreement: undefined }
    return await derive(whole, context.services.policy)
  } finally {
    secret.fill(0)
  }
}

/**
 * Encrypting material with a key that other users may have requires the same rights as Get.
 * @throws PermissionDenied …
 */
async function requireMayLeave(context: KmipContext, { id }: ManagedObject): Promise<void> {
  const object = await context.permitted(id, 'get')
  requireExtractable(object)
  await requireExportApproval(context, object)
}

/** Keys for agreement may have only this usage (KMIP 2.1 §12.1: Key Agreement). */
const keyAgreement = 0x800

function requireDerivable(context: KmipContext, base: ManagedObject, method: DerivationMethod): void {
  const agrees = method === 'AsymmetricKey' && (base.usageMask & keyAgreement) !== 0
  requireUse(
    context,
    agrees && !allows(base.usageMask, 'deriveKey') ? { ...base, usageMask: -1 } : base,
    'deriveKey',
  )
}

/**
 * Keys that are bound to an HMAC derive with its hash; other bound keys derive nothing (docs/adr/rights-and-reach.md).
 * @throws BadCryptographicParameters
 */
function requireDerivationBinding(
  method: DerivationMethod,
  { parameters }: Asked,
  bases: readonly ManagedObject[],
  policy: AlgorithmPolicy,
): void {
  for (const base of bases)
    if (base.boundAlg !== undefined) requireBinding(base, joseDerivation(method, parameters, policy))
}

/** Methods that return a MAC with the key over data of the caller, or (HASH) the key of HMAC itself (RFC 2104 §2). */
const macMethods: ReadonlySet<DerivationMethod> = new Set<DerivationMethod>([
  'HASH',
  'HMAC',
  'PBKDF2',
  'NIST800_108C',
  'NIST800_108F',
  'NIST800_108DPI',
])

/**
 * A derivation with data of the caller can have the effect of another operation, and then also requires the rights of that
 * operation (docs/adr/rights-and-reach.md).
 * @throws PermissionDenied
 */
async function requireDerivationRights(
  context: KmipContext,
  method: DerivationMethod,
  key: ManagedObject,
  bases: readonly ManagedObject[],
): Promise<void> {
  if (method === 'ENCRYPT') {
    await requireRight(context, key, 'encrypt', 'derivation by ENCRYPT returns ciphertexts of the key')
    await requireRight(context, key, 'decrypt', 'encryption with an IV of the caller can decrypt')
  }
  if (macMethods.has(method) && key.type === 'SymmetricKey' && makesMacs(key))
    await requireRight(
      context,
      key,
      'mac',
      `derivation by ${method} returns MACs of a key that generates or verifies MACs`,
    )
  const own = method === 'AsymmetricKey' ? bases.find(({ type }) => type === 'PrivateKey') : undefined
  if (own !== undefined && isUsedFor(own, 'decrypt'))
    await requireRight(context, own, 'decrypt', 'the shared secret decrypts what was encrypted for the key')
}

function makesMacs(key: ManagedObject): boolean {
  return isUsedFor(key, 'macGenerate') || isUsedFor(key, 'macVerify')
}

function isUsedFor({ usageMask }: ManagedObject, use: Usage): boolean {
  return allows(usageMask, use) || (usageMask & unrestricted) !== 0
}

/** The key is the symmetric key of two objects, else the first one. */
function sortBases([first, second]: readonly ManagedObject[]): {
  readonly key: ManagedObject
  readonly data: ManagedObject | undefined
} {
  if (first === undefined) throw kmipFailure('MissingData', 'UniqueIdentifier is missing.')
  if (second?.type === 'SymmetricKey' && first.type !== 'SymmetricKey') return { key: second, data: first }
  return { key: first, data: second }
}

async function readMaterial(object: ManagedObject, { objects }: KmipContext): Promise<Uint8Array> {
  if (object.type !== 'SymmetricKey' && object.type !== 'SecretData')
    throw kmipFailure('InvalidObjectType', 'Keys are derived from symmetric keys and secret data.')
  const material = object.form.format === undefined ? await objects.material(object) : undefined
  if (material === undefined) throw noValue()
  return material
}

async function findAgreement(bases: readonly ManagedObject[], context: KmipContext) {
  const own = bases.find(({ type }) => type === 'PrivateKey')
  const other = bases.find(
    (base) => base !== own && (base.type === 'PublicKey' || base.type === 'PrivateKey'),
  )
  if (own === undefined || other === undefined)
    throw kmipFailure('InvalidField', 'AsymmetricKey requires a private and a public key.')
  const findHeld = async ({ id }: ManagedObject) => (await context.permittedKey(id, 'derivekey')).held
  const { publicKey } = await findHeld(other)
  if (publicKey === undefined) throw noValue()
  return { own: await findHeld(own), other: publicKey }
}

function noValue() {
  return kmipFailure('KeyValueNotPresent', 'The value of the key is not stored on this server.')
}

type Asked = Pick<
  Derivation,
  'parameters' | 'initializationVector' | 'derivationData' | 'salt' | 'iterationCount'
>

const nothingAsked: Asked = {
  parameters: noParameters,
  initializationVector: undefined,
  derivationData: undefined,
  salt: undefined,
  iterationCount: undefined,
}

function readDerivation(asked: NonNullable<Request['parameters']>): Asked {
  const { parameters } = asked
  return { ...asked, parameters: parameters === undefined ? noParameters : readParameters(parameters) }
}

/**
 * Maximum number of attributes up to which an object gets another link: a key with thousands of derived keys stays
 * small.
 */
const maxLinked = 1000

/**
 * Links both objects (KMIP 2.1 §4.31); the derived key always has its link. Keys that other users derive get no link in
 * the owner's key, which would grow with each of their requests.
 */
function linkDerived({ objects }: KmipContext, bases: readonly ManagedObject[], made: ManagedObject): void {
  const own = bases.map(({ id }): TtlvNode => link('DerivationBaseObjectLink', id))
  objects.update(made, attributeMembers([...readStoredAttributes(made), ...own], made))
  for (const base of bases) {
    const staged = objects.staged().find(({ id }) => id === base.id) ?? base
    const stored = readStoredAttributes(staged)
    if (base.owner !== made.owner || stored.length >= maxLinked) continue
    objects.update(base, attributeMembers([...stored, link('DerivedKeyLink', made.id)], staged))
  }
}
