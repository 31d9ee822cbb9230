import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { curves, findCurveName } from '@warder/crypto'
import { type CurveName, type KeyAttributes, type KeyUse, TokenError } from '@warder/pkcs11'
import type { Change, Database } from '@warder/storage'
import { encodeReference, type HsmForm } from './hsm-key.ts'
import { deleteHsmKey, type HsmKeyRow, insertHsmKey, keepHsmKey } from './hsm-key-store.ts'
import { type Hsm, toHsmFailure } from './hsms.ts'

/** Keys that are created in an HSM. Sizes in bits. */
export type HsmKeySpec =
  | { readonly algorithm: 'AES' | 'HMAC' | 'RSA'; readonly bits: number }
  | { readonly algorithm: 'EC'; readonly curve: HsmCurve }
  | { readonly algorithm: 'Ed25519' }

/** A key in an HSM as its object stores it. */
export interface HsmKeyMaterial {
  readonly form: HsmForm
  /** The reference; not secret, but sealed. */
  readonly material: Buffer
  /** Of a pair. */
  readonly publicKey: KeyObject | undefined
  readonly bits: number
  /** As the HSM reports it. */
  readonly extractability: {
    readonly extractable: boolean
    readonly sensitive: boolean
    readonly neverExtractable: boolean
    readonly alwaysSensitive: boolean
  }
}

/** Uses of a key (KMIP 2.1 §11.12). */
type Usage =
  | ('encrypt' | 'decrypt' | 'wrapKey' | 'unwrapKey')
  | ('sign' | 'verify' | 'macGenerate' | 'macVerify')

/** If the object is not stored within this time, the key is removed from the HSM. */
const abandonedAfterMs = 600_000
const hsmCurves = ['P-256', 'P-384', 'P-521'] as const satisfies readonly CurveName[]
type HsmCurve = (typeof hsmCurves)[number]

function isHsmCurve(name: string | undefined): name is HsmCurve {
  return hsmCurves.some((one) => one === name)
}

/**
 * Converts the attributes of an object to the parameters of a new key. @throws failure('unsupported_algorithm') for
 * keys that are not supported in HSMs
 */
export function toHsmKeySpec(key: {
  readonly algorithm: string | undefined
  readonly bits?: number | undefined
  readonly curve?: string | undefined
}): HsmKeySpec {
  const { algorithm, bits, curve } = key
  if (algorithm === 'Ed25519') return { algorithm }
  if (algorithm === 'EC' && isHsmCurve(curve)) return { algorithm, curve }
  if (
    (algorithm === 'AES' && bits !== undefined && bits <= 256) ||
    algorithm === 'HMAC' ||
    algorithm === 'RSA'
  )
    if (bits !== undefined) return { algorithm, bits }
  throw failure(
    'unsupported_algorithm',
    'An HSM has keys for AES (128, 192 or 256 bits), HMAC, RSA, EC on P-256, P-384 and P-521, and Ed25519.',
  )
}

/**
 * Creates a key in an HSM for an object of this unit of work. If the unit is not committed, the key is removed again.
 * @param request.objectId identifier of the object, or of the private half of a pair
 * @param request.spareLabels used one after the other if a key of the HSM has the label
 * @param request.permits uses of the object, which the HSM enforces as well
 * @throws Failure 409 for a label that a key has, 503 if the HSM cannot be used
 */
export async function createHsmKey(
  objects: { also(...changes: readonly Change[]): void },
  { db }: { readonly db: Database },
  request: {
    readonly hsm: Hsm
    readonly label: string
    readonly spareLabels?: readonly string[]
    readonly objectId: string
    readonly spec: HsmKeySpec
    permits(use: Usage): boolean
  },
  now: number,
): Promise<HsmKeyMaterial> {
  const { hsm, label, spareLabels: [spare, ...spareLabels] = [], objectId, spec } = request
  const kind = spec.algorithm === 'AES' || spec.algorithm === 'HMAC' ? 'secret' : 'private'
  const id = randomBytes(16).toString('hex')
  const row: HsmKeyRow = {
    ...{ id, object_id: objectId, hsm: hsm.name, class: kind, label, key_id: id },
    due_at: now + abandonedAfterMs,
  }
  await db.commit([insertHsmKey(row)])
  try {
    const attributes = await generate(hsm, label, id, spec, (use) => request.permits(use))
    const made = await describeHsmKey(hsm, kind, { ...attributes, label, id })
    objects.also(keepHsmKey(row))
    return made
  } catch (error) {
    // No key was created, because the label is taken or the HSM refused.
    const code = error instanceof TokenError ? error.code : undefined
    if (code === 'key_exists' || code === 'not_supported') await db.commit([deleteHsmKey(row)])
    if (code === 'key_exists' && spare !== undefined)
      return createHsmKey(objects, { db }, { ...request, label: spare, spareLabels }, now)
    throw toHsmFailure(hsm.name, error)
  }
}

function generate(
  { token }: Hsm,
  label: string,
  id: string,
  spec: HsmKeySpec,
  permits: (use: Usage) => boolean,
): Promise<KeyAttributes> {
  const isFor = (...uses: readonly Usage[]): boolean => uses.some(permits)
  switch (spec.algorithm) {
    case 'AES':
    case 'HMAC': {
      const type = spec.algorithm === 'AES' ? 'AES' : 'generic'
      return token.generateSecret({
        label,
        id,
        type,
        bytes: spec.bits / 8,
        uses: secretUses.flatMap(([use, of]) => (permits(of) ? [use] : [])),
      })
    }
    case 'RSA': {
      const uses = [
        ...(isFor('sign', 'verify') ? (['sign'] as const) : []),
        ...(isFor('decrypt', 'unwrapKey', 'encrypt', 'wrapKey') ? (['decrypt'] as const) : []),
      ]
      return token.generateKeyPair(label, { rsaBits: spec.bits }, { id, uses })
    }
    case 'EC':
      return token.generateKeyPair(label, { curve: spec.curve }, { id })
    case 'Ed25519':
      return token.generateKeyPair(label, { curve: 'Ed25519' }, { id })
  }
}

const secretUses: readonly (readonly [KeyUse, Usage])[] = [
  ['encrypt', 'encrypt'],
  ['decrypt', 'decrypt'],
  ['wrap', 'wrapKey'],
  ['unwrap', 'unwrapKey'],
  ['sign', 'macGenerate'],
  ['verify', 'macVerify'],
]

/** A key of an HSM as an object stores it, by the attributes that the HSM reports. @throws TokenError, Failure */
export async function describeHsmKey(
  { name, token }: Hsm,
  kind: 'secret' | 'private',
  attributes: KeyAttributes & { readonly label: string; readonly id: string },
): Promise<HsmKeyMaterial> {
  const { label, id } = attributes
  const extractability = {
    extractable: attributes.extractable !== false,
    sensitive: attributes.sensitive === true,
    neverExtractable: attributes.neverExtractable === true,
    alwaysSensitive: attributes.alwaysSensitive === true,
  }
  const { extractable, sensitive, neverExtractable, alwaysSensitive } = extractability
  const hardware =
    attributes.local === true && sensitive && alwaysSensitive && neverExtractable && !extractable
  const form: HsmForm = { name, label, id, hardware }
  const reference = { name, label, id, class: kind } as const
  if (kind === 'secret') {
    const bits = (attributes.valueBytes ?? 0) * 8
    return {
      form,
      material: encodeReference({ ...reference, bits }),
      publicKey: undefined,
      bits,
      extractability,
    }
  }
  const publicKey = createPublicKey({
    key: await findPublicKey(token, { label, ...(id !== '' && { id }) }),
    format: 'jwk',
  })
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
  const rejection = randomBytes(32).toString('base64url')
  const material = encodeReference({
    ...{ ...reference, spki },
    ...(publicKey.asymmetricKeyType === 'rsa' && { rejection }),
  })
  const { modulusLength = 256 } = publicKey.asymmetricKeyDetails ?? {}
  const bits = publicKey.asymmetricKeyType === 'ec' ? getCurveBits(publicKey) : modulusLength
  return { form, material, publicKey, bits, extractability }
}

/** The public key of the pair; for RSA it can be read from the private key. */
async function findPublicKey(token: Hsm['token'], key: { readonly label: string; readonly id?: string }) {
  try {
    return await token.publicKey(key)
  } catch (error) {
    if (!(error instanceof TokenError && error.code === 'key_not_found')) throw error
    return token.publicKey(key, 'private')
  }
}

/** Name in JOSE of the curve of an EC key; undefined for curves on which no keys of HSMs are used here. */
export function findHsmCurve(publicKey: KeyObject): HsmCurve | undefined {
  const name = findCurveName(publicKey.asymmetricKeyDetails?.namedCurve)
  return isHsmCurve(name) ? name : undefined
}

function getCurveBits(publicKey: KeyObject): number {
  return curves[findHsmCurve(publicKey) ?? '']?.bits ?? 0
}
