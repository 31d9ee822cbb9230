import { Tag, type TagName } from '@warder/kmip/tables'
import { optional, type StructureNode, structure, unsignedBytes, unsignedInteger } from '@warder/kmip/ttlv'
import {
  type Domain,
  type DomainNumber,
  finiteFieldFromNumbers,
  finiteFieldNumbers,
  type KeyPolicy,
} from '@warder/pki/keys'
import { kmipFailure } from '../failure/failure.ts'
import type { ReadKey } from './parsed-key.ts'

/** The domain parameters that KMIP lists (KMIP 2.1 §3.1.4), in its order; X and Y are the keys themselves. */
const members: Readonly<Record<'DSA' | 'DH', readonly DomainNumber[]>> = {
  DSA: ['P', 'Q', 'G'],
  DH: ['P', 'Q', 'G', 'J'],
}

/** {P, Q, G, X} and the like. @throws PkiError, KmipFailure InvalidField */
export function finiteFieldFromTransparent(
  type: 'PrivateKey' | 'PublicKey',
  algorithm: 'DSA' | 'DH',
  material: StructureNode,
  policy: KeyPolicy,
): ReadKey {
  const domain: Domain = {}
  for (const name of members[algorithm]) {
    const value = numberOf(material, name)
    if (value !== undefined) domain[name] = value
  }
  const own = numberOf(material, type === 'PrivateKey' ? 'X' : 'Y')
  if (own === undefined) throw kmipFailure('InvalidField', 'The key has no number of its own.')
  return finiteFieldFromNumbers(type, algorithm, domain, own, policy)
}

export function finiteFieldToTransparent(
  type: 'PrivateKey' | 'PublicKey',
  canonical: Uint8Array,
): StructureNode | undefined {
  const numbers = finiteFieldNumbers(type, canonical)
  if (numbers === undefined) return undefined
  const { algorithm, domain, own } = numbers
  return structure(Tag.KeyMaterial, [
    ...members[algorithm].map((name) => {
      const value = domain[name]
      return value === undefined ? undefined : unsignedInteger(Tag[name], value)
    }),
    unsignedInteger(type === 'PrivateKey' ? Tag.X : Tag.Y, own),
  ])
}

function numberOf(material: StructureNode, name: TagName): Uint8Array | undefined {
  const value = optional(material, Tag[name], 'BigInteger')
  return value === undefined ? undefined : unsignedBytes({ tag: Tag[name], type: 'BigInteger', value })
}
