import { failure } from '@warder/base'
import { algorithms, type KeyMaterial } from '@warder/crypto'
import { toUsageMask, type Usage, usageMask } from '@warder/keys'
import Type from 'typebox'

const maxOps = 16

/** Members of a JWK that limit the uses of its key. */
export const jwkUseMembers = {
  use: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'For an import: sig or enc limits the key to that use (RFC 7517 §4.2).',
    }),
  ),
  key_ops: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: maxOps,
      description: 'For an import: limits the key to these operations (RFC 7517 §4.3).',
    }),
  ),
}

const Named = Type.Optional(Type.Unknown({ description: 'For an import: accepted without effect.' }))

/** Members of a JWK with foreign names of its key: the service assigns its own kid and stores no certificates. */
export const jwkNameMembers = { kid: Named, x5u: Named, x5c: Named, x5t: Named, 'x5t#S256': Named }

const members = Object.keys({ ...jwkUseMembers, ...jwkNameMembers })

/** @throws failure('bad_request') for members of a JWK without key material */
export function requireNoJwkMembers(body: Readonly<Record<string, unknown>>): void {
  const given = members.find((name) => body[name] !== undefined)
  if (given === undefined) return
  throw failure(
    'bad_request',
    given === 'kid'
      ? 'kid: is assigned by the service; use an alias to name a generated key.'
      : `${given}: is only for imported keys; a generated key has the uses of its alg.`,
  )
}

type Grants = Readonly<Record<string, readonly Usage[]>>

/** RFC 7517 §4.3, with the uses that the service knows. A key that wraps content keys does so as `encrypt` over REST. */
const grantsByOp: Grants = {
  sign: ['sign', 'macGenerate'],
  verify: ['verify', 'macVerify'],
  encrypt: ['encrypt'],
  decrypt: ['decrypt'],
  wrapKey: ['wrapKey'],
  unwrapKey: ['unwrapKey'],
  deriveKey: [],
  deriveBits: [],
}
const managementGrants: Grants = {
  ...grantsByOp,
  wrapKey: ['wrapKey', 'encrypt'],
  unwrapKey: ['unwrapKey', 'decrypt'],
}
/** RFC 7518 §4.6: both sides of a key agreement derive. */
const agreed: readonly Usage[] = ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']
const agreementGrants: Grants = { ...managementGrants, deriveKey: agreed, deriveBits: agreed }

const grantsByUse: Grants = {
  sig: ['sign', 'verify', 'macGenerate', 'macVerify'],
  enc: agreed,
}

function selectGrants({ algorithm }: KeyMaterial, boundAlg: string | undefined): Grants {
  if (algorithm === 'X25519' || algorithm === 'EC') return agreementGrants
  if (algorithm !== 'AES') return managementGrants
  const use = boundAlg === undefined ? undefined : algorithms[boundAlg]?.use
  return use?.endsWith('key management') === true ? managementGrants : grantsByOp
}

/**
 * The usage mask to which `use` and `key_ops` of an imported JWK limit its key; all bits if both are absent.
 * @throws failure('bad_request') if they are unknown, contradict each other or leave no use for the key
 */
export function toUsageLimit(
  { use, key_ops: ops }: { readonly use?: string; readonly key_ops?: readonly string[] },
  material: KeyMaterial,
  boundAlg: string | undefined,
): number {
  const byUse = use === undefined ? undefined : useMask(use)
  if (ops === undefined) return requireSome('use', byUse ?? -1, material, boundAlg)
  if (new Set(ops).size !== ops.length)
    throw failure('bad_request', 'key_ops: contains an operation twice (RFC 7517 §4.3).')
  const grants = selectGrants(material, boundAlg)
  const unknown = ops.find((op) => !Object.hasOwn(grants, op))
  if (unknown !== undefined)
    throw failure('bad_request', `key_ops: must contain only ${Object.keys(grants).join(', ')}.`)
  const mask = requireSome('key_ops', usageMask(...ops.flatMap((op) => grants[op] ?? [])), material, boundAlg)
  if (byUse !== undefined && ops.some((op) => (usageMask(...(grants[op] ?? [])) & byUse) === 0))
    throw failure('bad_request', 'key_ops: contradicts use (RFC 7517 §4.3).')
  return byUse === undefined ? mask : mask & byUse
}

function useMask(use: string): number {
  const uses = Object.hasOwn(grantsByUse, use) ? grantsByUse[use] : undefined
  if (uses === undefined) throw failure('bad_request', 'use: must be sig or enc.')
  return usageMask(...uses)
}

function requireSome(
  member: string,
  mask: number,
  material: KeyMaterial,
  boundAlg: string | undefined,
): number {
  if ((toUsageMask(material, boundAlg) & mask) !== 0) return mask
  const what = boundAlg === undefined ? 'kty' : 'alg'
  throw failure('bad_request', `${member}: has no use in common with the ${what} of the key.`)
}
