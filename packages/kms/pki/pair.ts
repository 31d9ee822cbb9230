import { certificateSign, keepsCertificate } from '@warder/authority'
import { failure } from '@warder/base'
import {
  algorithms,
  canonicalName,
  generateKey,
  keyFacts,
  quantumSafeBits,
  requirePermitted,
  toKeySpec,
} from '@warder/crypto'
import {
  type AlgorithmName,
  findLinkTarget,
  type Key,
  type NewObject,
  newKeyObjects,
  newQuantumSafePair,
  type ObjectId,
  requirePermittedKey,
  requirePrincipal,
  stageNew,
  toStoredKeyKind,
  type UnitOfWork,
  usageMask,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import type { PkiServices } from './services.ts'

/** A key pair to certify. */
export interface CertifiedPair {
  readonly privateKey: Key
  /** Undefined when only the private key is stored. */
  readonly publicKey: string | undefined
}

/** The key that a request names: an existing key, or the algorithm of a new one. */
export interface KeyWish {
  readonly kid?: string | undefined
  readonly alg?: string | undefined
  readonly bits?: number | undefined
}

/** KMIP 2.1 §12.1: CRL Sign. */
const crlSign = 0x2000

/**
 * Returns the named pair or a new one. The key of an authority signs only certificates and CRLs.
 * @param use its purpose
 * @throws Failure bad_request, unsupported_algorithm, not_found, forbidden
 */
export async function pairFor(
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
  wish: KeyWish,
  use: 'authority' | 'subject',
): Promise<CertifiedPair> {
  if (wish.kid !== undefined) return findNamedPair(context, wish)
  const { alg, bits } = wish
  if (alg === undefined) throw failure('bad_request', 'alg: is required, or kid of an existing key.')
  return newPair(context, objects, { alg, bits }, use)
}

async function findNamedPair(
  context: OperationContext<PkiServices>,
  { kid = '', alg, bits }: KeyWish,
): Promise<CertifiedPair> {
  if (alg !== undefined || bits !== undefined)
    throw failure('bad_request', 'kid: names an existing key; omit alg and bits.')
  const privateKey = await requirePermittedKey(context, kid, 'certify', 'private half')
  if (privateKey.object.type !== 'PrivateKey')
    throw failure('crypto_failure', 'kid: is not the private key of a pair.')
  return { privateKey, publicKey: privateKey.object.linkedId }
}

async function newPair(
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
  { alg, bits }: { readonly alg: string; readonly bits: number | undefined },
  use: 'authority' | 'subject',
): Promise<CertifiedPair> {
  const { services } = context
  const wish: NewPairWish = {
    alg,
    bits,
    owner: requirePrincipal(context).name,
    now: services.clock.now(),
    ...usageMasks(alg, use),
  }
  const isRefused = use === 'authority' && (isKem(alg) || isPss(alg))
  const wanted = isRefused
    ? undefined
    : ((await quantumSafePair(services, wish)) ?? (await josePair(services, wish)))
  if (wanted === undefined)
    throw failure('unsupported_algorithm', `'${alg.slice(0, 64)}' is not supported for signing certificates.`)
  const [secret, open] = await stageNew(objects, services, wish, wanted)
  const privateKey = secret === undefined ? undefined : await objects.key(secret.id)
  if (privateKey === undefined) throw failure('internal_error', 'the new key was not found')
  return { privateKey, publicKey: open?.id }
}

interface NewPairWish {
  readonly alg: string
  readonly bits: number | undefined
  readonly owner: string
  /** Unix milliseconds. */
  readonly now: number
  /** CryptographicUsageMask of the halves. */
  readonly privateMask: number
  readonly publicMask: number
}

function isKem(alg: string): boolean {
  return alg.startsWith('ML-KEM-')
}

function isPss(alg: string): boolean {
  const row = algorithms[canonicalName(alg)]
  return row?.use === 'signature' && row.plan.scheme === 'pss'
}

function usageMasks(alg: string, use: 'authority' | 'subject') {
  if (isKem(alg)) return { privateMask: usageMask('decrypt'), publicMask: usageMask('encrypt') }
  const privateMask = use === 'authority' ? certificateSign | crlSign : usageMask('sign', 'verify')
  return { privateMask, publicMask: usageMask('verify') }
}

async function quantumSafePair(
  { policy, fips }: PkiServices,
  wish: NewPairWish,
): Promise<readonly NewObject[] | undefined> {
  const bits = quantumSafeBits(wish.alg)
  if (bits === undefined) return undefined
  if (wish.bits !== undefined)
    throw failure('bad_request', 'bits: is only for RSA keys; other algorithms determine the size.')
  if (fips) throw failure('unsupported_algorithm', `'${wish.alg}' is not available in FIPS mode.`)
  const { algorithm } = toStoredKeyKind({ algorithm: wish.alg.replaceAll('-', '_') as AlgorithmName })
  requirePermitted(policy, keyFacts({ algorithm, bits }))
  return newQuantumSafePair(wish)
}

/** Generates a pair of a JOSE signature algorithm; undefined for other algorithms. */
async function josePair(
  { policy }: PkiServices,
  { alg, bits, owner, now, privateMask, publicMask }: NewPairWish,
): Promise<readonly NewObject[] | undefined> {
  const row = algorithms[canonicalName(alg)]
  if (row?.use !== 'signature') return undefined
  const crv = 'curve' in row ? row.curve : undefined
  const spec = toKeySpec({ kty: row.kty, alg, crv, bits }, policy)
  const made = await generateKey(spec)
  if (!('private' in made)) throw failure('internal_error', 'a signing key must be a pair')
  requirePermitted(policy, keyFacts(made.private))
  return newKeyObjects({ owner, boundAlg: spec.alg, now }, [
    { material: made.private, usageMask: privateMask, tags: [] },
    { material: made.public, usageMask: publicMask, tags: [] },
  ])
}

/** Links the keys of a pair to their newest certificate if both have the same owner. */
export async function linkToCertificate(
  { db }: Pick<PkiServices, 'db'>,
  objects: UnitOfWork,
  { privateKey, publicKey }: CertifiedPair,
  certificate: { readonly id: ObjectId; readonly der: Uint8Array; readonly owner: string },
): Promise<void> {
  for (const id of [privateKey.object.id, publicKey]) {
    const object = id === undefined ? undefined : await objects.read(id)
    if (object === undefined || object.owner !== certificate.owner) continue
    if (await keepsCertificate(db, findLinkTarget(object, 'CertificateLink'), certificate.der)) continue
    const others = object.links.filter(({ kind }) => kind !== 'CertificateLink')
    objects.update(object, { links: [...others, { kind: 'CertificateLink', id: certificate.id }] })
  }
}
