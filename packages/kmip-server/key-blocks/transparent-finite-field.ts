import { domainMembers } from '@warder/keys'
import { optional, type StructureNode, Tag, type TagName, toMagnitude } from '@warder/kmip-codec'
import { type Domain, finiteFieldFromNumbers, type KeyPolicy } from '@warder/pki'
import { kmipFailure } from '../failure/failure.ts'
import type { ReadKey } from './parsed-key.ts'

/** {P, Q, G, X} and the like. @throws PkiError, KmipFailure InvalidField */
export function finiteFieldFromTransparent(
  type: 'PrivateKey' | 'PublicKey',
  algorithm: 'DSA' | 'DH',
  material: StructureNode,
  policy: KeyPolicy,
): ReadKey {
  const domain: Domain = {}
  for (const name of domainMembers[algorithm]) {
    const value = readNumber(material, name)
    if (value !== undefined) domain[name] = value
  }
  const own = readNumber(material, type === 'PrivateKey' ? 'X' : 'Y')
  if (own === undefined) throw kmipFailure('InvalidField', 'The key has no number of its own.')
  return finiteFieldFromNumbers(type, algorithm, domain, own, policy)
}

function readNumber(material: StructureNode, name: TagName): Uint8Array | undefined {
  const value = optional(material, Tag[name], 'BigInteger')
  return value === undefined ? undefined : toMagnitude({ tag: Tag[name], type: 'BigInteger', value })
}
