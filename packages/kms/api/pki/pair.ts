import { failure } from '@warder/foundation/errors'
import type { OperationContext } from '@warder/foundation/operations'
import { permittedKey, principalOf } from '../../access/index.ts'
import { certificateSign } from '../../authority/index.ts'
import {
  algorithms,
  canonicalName,
  generateKey,
  keyFacts,
  keySpecOf,
  requirePermitted,
} from '../../crypto/index.ts'
import {
  type Key,
  newKeyObjects,
  type ObjectId,
  stageNew,
  type UnitOfWork,
  usageMask,
} from '../../keys/index.ts'
import type { KmsServices } from '../../services.ts'

/** A pair of keys that is to be certified. */
export interface CertifiedPair {
  readonly privateKey: Key
  /** Undefined where only the private half is kept. */
  readonly publicKey: string | undefined
}

/** Which key a request names: one that is here, or the algorithm of a new one. */
export interface KeyWish {
  readonly kid?: string | undefined
  readonly alg?: string | undefined
  readonly bits?: number | undefined
}

/** KMIP 2.1 §12.1: CRL Sign. */
const crlSign = 0x2000

/**
 * The pair that is named, or a new one. The key of an authority signs certificates and CRLs, and nothing else.
 * @param use what it is for
 * @throws Failure bad_request, unsupported_algorithm, not_found, forbidden
 */
export async function pairFor(
  context: OperationContext<KmsServices>,
  objects: UnitOfWork,
  wish: KeyWish,
  use: 'authority' | 'subject',
): Promise<CertifiedPair> {
  if (wish.kid !== undefined) return namedPair(context, wish)
  const { alg, bits } = wish
  if (alg === undefined) throw failure('bad_request', 'alg: is required, or kid of a key that is here.')
  return newPair(context, objects, { alg, bits }, use)
}

async function namedPair(
  context: OperationContext<KmsServices>,
  { kid = '', alg, bits }: KeyWish,
): Promise<CertifiedPair> {
  if (alg !== undefined || bits !== undefined)
    throw failure('bad_request', 'kid: names a key that is there; leave alg and bits out.')
  const privateKey = await permittedKey(
    context.services,
    principalOf(context),
    kid,
    'certify',
    'private half',
  )
  if (privateKey.object.type !== 'PrivateKey')
    throw failure('crypto_failure', 'kid: is not the private key of a pair.')
  return { privateKey, publicKey: privateKey.object.linkedId }
}

async function newPair(
  context: OperationContext<KmsServices>,
  objects: UnitOfWork,
  { alg, bits }: { readonly alg: string; readonly bits: number | undefined },
  use: 'authority' | 'subject',
): Promise<CertifiedPair> {
  const { services } = context
  const row = algorithms[canonicalName(alg)]
  const signs = row?.use === 'signature' && !(row.plan.scheme === 'pss' && use === 'authority')
  if (row === undefined || !signs)
    throw failure('unsupported_algorithm', `'${alg.slice(0, 64)}' does not sign certificates here.`)
  const crv = 'curve' in row ? row.curve : undefined
  const spec = keySpecOf({ kty: row.kty, alg, crv, bits }, services.policy)
  const made = await generateKey(spec)
  if (!('private' in made)) throw failure('internal_error', 'a signing key is a pair')
  requirePermitted(services.policy, keyFacts(made.private))
  const privateMask = use === 'authority' ? certificateSign | crlSign : usageMask('sign', 'verify')
  const now = services.clock.now()
  const key = { owner: principalOf(context).name, boundAlg: spec.alg, now }
  const wanted = newKeyObjects(key, [
    { material: made.private, usageMask: privateMask, tags: [] },
    { material: made.public, usageMask: usageMask('verify'), tags: [] },
  ])
  const [secret, open] = await stageNew(objects, services.applyCreationRules, key, wanted)
  const privateKey = secret === undefined ? undefined : await objects.key(secret.id)
  if (privateKey === undefined) throw failure('internal_error', 'the new key is not there')
  return { privateKey, publicKey: open?.id }
}

/** Keys know their newest certificate: those of the caller's own. */
export async function linkToCertificate(
  objects: UnitOfWork,
  { privateKey, publicKey }: CertifiedPair,
  certificate: ObjectId,
  owner: string,
): Promise<void> {
  for (const id of [privateKey.object.id, publicKey]) {
    const object = id === undefined ? undefined : await objects.read(id)
    if (object === undefined || object.owner !== owner) continue
    const others = object.links.filter(({ kind }) => kind !== 'CertificateLink')
    objects.update(object, { links: [...others, { kind: 'CertificateLink', id: certificate }] })
  }
}
