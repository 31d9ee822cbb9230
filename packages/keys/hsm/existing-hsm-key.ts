import { failure } from '@warder/base'
import { type KeyAttributes, keyTypes, TokenError } from '@warder/pkcs11'
import type { Database } from '@warder/storage'
import { listHsmKeys } from './hsm-key-store.ts'
import { type Hsm, onHsm } from './hsms.ts'
import { describeHsmKey, findHsmCurve, type HsmKeyMaterial } from './new-hsm-key.ts'

// Keys that exist in an HSM, including keys of other programs.

type Kind = 'secret' | 'private'
type Algorithm = 'AES' | 'HMAC' | 'RSA' | 'EC' | 'Ed25519'
type NamedAttributes = KeyAttributes & { readonly label: string; readonly id: string }

/** A key in an HSM, as the HSM reports it. */
interface ExistingHsmKey {
  readonly kind: Kind
  /** undefined: the service does not support keys of this type. */
  readonly algorithm: Algorithm | undefined
  /** The label and CKA_ID are empty if the key has none. */
  readonly attributes: NamedAttributes
}

/** CKK_… of HMAC keys beside the generic ones (Current Mechanisms 3.0 §2.20). */
const hmacTypes: ReadonlySet<number> = new Set([keyTypes.generic, 0x28, 0x2b, 0x2c, 0x2d, 0x2e])

function findAlgorithm({ keyType }: KeyAttributes): Algorithm | undefined {
  if (keyType === undefined) return undefined
  if (hmacTypes.has(keyType)) return 'HMAC'
  if (keyType === keyTypes.AES) return 'AES'
  if (keyType === keyTypes.RSA) return 'RSA'
  if (keyType === keyTypes.EC) return 'EC'
  return keyType === keyTypes.OKP ? 'Ed25519' : undefined
}

function toExistingKey(kind: Kind, attributes: KeyAttributes): ExistingHsmKey {
  const { label = '', id = '' } = attributes
  return { kind, algorithm: findAlgorithm(attributes), attributes: { ...attributes, label, id } }
}

/** Maximum number of registered keys that are listed with their objects. */
const maxKnown = 100_000

/**
 * The keys in an HSM, in the order of their labels, with the objects of this service that use them.
 * @throws Failure 422, 503
 */
export async function listKeysInHsm(
  { name, token }: Hsm,
  db: Database,
): Promise<readonly (ExistingHsmKey & { readonly objectId: string | undefined })[]> {
  const [secret, pairs, known] = await onHsm(name, () =>
    Promise.all([token.listKeys('secret'), token.listKeys('private'), listHsmKeys(db, name, maxKnown)]),
  )
  const toOrder = (label: string, kind: string, id: string): string => JSON.stringify([label, kind, id])
  const objects = new Map(
    known
      .filter(({ due_at }) => due_at === null)
      .map((row) => [toOrder(row.label, row.class, row.key_id), row.object_id]),
  )
  return [
    ...secret.map((key) => toExistingKey('secret', key)),
    ...pairs.map((key) => toExistingKey('private', key)),
  ]
    .map((key) => [toOrder(key.attributes.label, key.kind, key.attributes.id), key] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([order, key]) => ({ ...key, objectId: objects.get(order) }))
}

/** A key in an HSM that can be registered. */
export interface RegistrableHsmKey {
  readonly kind: Kind
  readonly algorithm: Algorithm
  readonly bits: number
  readonly curve: string | undefined
  readonly attributes: NamedAttributes
  readonly made: HsmKeyMaterial
}

/**
 * A key in an HSM, by its label.
 * @param wanted.id CKA_ID, hexadecimal; required if several keys have the label
 * @param wanted.kind required if a secret and a private key have the label
 * @throws Failure 400 when `kind` is required, 422 when there is no such key, or it cannot be used here, 503
 */
export async function findKeyInHsm(
  hsm: Hsm,
  { kind, ...key }: { readonly label: string; readonly id?: string; readonly kind: Kind | undefined },
): Promise<RegistrableHsmKey> {
  const fitting: ExistingHsmKey[] = []
  for (const one of kind === undefined ? (['secret', 'private'] as const) : [kind]) {
    const attributes = await onHsm(hsm.name, () => readAttributes(hsm, one, key))
    if (attributes !== undefined) fitting.push(toExistingKey(one, attributes))
  }
  const [first, second] = fitting
  if (first === undefined)
    throw failure('crypto_failure', `The HSM ${hsm.name} has no secret or private key with this label.`)
  if (second !== undefined)
    throw failure('bad_request', 'class: is required, because a secret and a private key have this label.')
  const made = await onHsm(hsm.name, () => describeHsmKey(hsm, first.kind, first.attributes))
  const { algorithm } = first
  const { bits, publicKey } = made
  const curve = publicKey === undefined ? undefined : findHsmCurve(publicKey)
  if (algorithm === undefined || (algorithm === 'EC' && curve === undefined) || bits === 0)
    throw failure(
      'unsupported_algorithm',
      'Keys for AES, HMAC, RSA, EC on P-256, P-384 and P-521, and Ed25519 can be registered.',
    )
  return { ...first, algorithm, bits, curve, made }
}

async function readAttributes(
  { token }: Hsm,
  kind: Kind,
  key: { readonly label: string; readonly id?: string },
): Promise<KeyAttributes | undefined> {
  try {
    return await token.attributes(kind, key)
  } catch (error) {
    if (error instanceof TokenError && error.code === 'key_not_found') return undefined
    throw error
  }
}
