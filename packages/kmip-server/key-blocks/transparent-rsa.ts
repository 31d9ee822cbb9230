import { rsaMembers } from '@warder/keys'
import { optional, type StructureNode, Tag, type TagName, toMagnitude } from '@warder/kmip-codec'
import { type KeyPolicy, type RsaNumbers, rsaPrivateFromNumbers, rsaPublicFromNumbers } from '@warder/pki'
import { kmipFailure } from '../failure/failure.ts'
import type { ReadKey } from './parsed-key.ts'

/** Requires the modulus, and enough members to compute the others. @throws PkiError */
export function rsaPrivateFromTransparent(material: StructureNode, policy: KeyPolicy): ReadKey {
  const given: Partial<Record<keyof RsaNumbers, Uint8Array>> = {}
  const members: TagName[] = []
  for (const [name, number] of rsaMembers) {
    const value = readNumber(material, name)
    if (value === undefined) continue
    given[number] = value
    members.push(name)
  }
  const parsed = rsaPrivateFromNumbers(given, policy)
  return members.length === rsaMembers.length ? parsed : { ...parsed, members }
}

export function rsaPublicFromTransparent(material: StructureNode, policy: KeyPolicy): ReadKey {
  const [n, e] = [readNumber(material, 'Modulus'), readNumber(material, 'PublicExponent')]
  if (n === undefined || e === undefined)
    throw kmipFailure('InvalidField', 'An RSA public key has a modulus and a public exponent.')
  return rsaPublicFromNumbers(n, e, policy)
}

function readNumber(material: StructureNode, name: TagName): Uint8Array | undefined {
  const value = optional(material, Tag[name], 'BigInteger')
  return value === undefined ? undefined : toMagnitude({ tag: Tag[name], type: 'BigInteger', value })
}
