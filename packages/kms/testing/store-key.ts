import { factorJwkMembers, publicJwkMembers, secretJwkMembers } from '@warder/base'
import { decodeBase64Url, type ImportMembers, importKey, serializeMaterial, toKeySpec } from '@warder/crypto'
import { findObject, newObjectDefaults, ObjectAttributes, type ObjectId, toUsageMask } from '@warder/keys'
import { creationChanges, removalChanges } from '@warder/keys/testing'
import type { Started } from './start.ts'

let moment = Date.now()

/**
 * Stores a private or symmetric JWK under an id of one's choice, Active, as imports over KMIP do. A key that has the id
 * already goes.
 * @param alg the algorithm of the key, which is bound to it if `bound`
 */
export async function storeKeyAs(
  kms: Started,
  id: string,
  owner: string,
  jwk: Readonly<Record<string, unknown>>,
  alg: string | undefined,
  bound: boolean,
): Promise<void> {
  const all = [...secretJwkMembers, ...factorJwkMembers, ...publicJwkMembers]
  const members = all.filter((name) => name in jwk)
  const bytes = members.map((name) => [name, decodeBase64Url(String(jwk[name]), name)] as const)
  const crv = jwk.crv === undefined ? undefined : String(jwk.crv)
  const spec = toKeySpec({ kty: String(jwk.kty), alg, crv }, { fips: false })
  const material = await importKey(spec, Object.fromEntries(bytes) as ImportMembers)
  const { db, seal } = kms.environment
  const now = ++moment
  const object = {
    ...newObjectDefaults,
    id: id as ObjectId,
    type: material.kind === 'secret' ? 'SymmetricKey' : 'PrivateKey',
    algorithm: material.algorithm,
    bits: material.bits,
    curve: material.curve,
    boundAlg: bound ? alg : undefined,
    state: 'Active',
    owner,
    usageMask: toUsageMask(material, bound ? alg : undefined),
    linkedId: undefined,
    createdAt: now,
    activationAt: now,
    form: {},
    attributes: ObjectAttributes.none,
  } as const
  const before = await findObject(db, object.id)
  if (before !== undefined) await db.commit(removalChanges(db, [before], now))
  const fresh = { object, material: serializeMaterial(material), tags: [] }
  await db.commit(creationChanges(db, seal, [fresh], now))
}
