import { Tag, type TagName } from '@warder/kmip/tables'
import { optional, type StructureNode, structure, unsignedBytes, unsignedInteger } from '@warder/kmip/ttlv'
import {
  type KeyPolicy,
  type RsaNumbers,
  readRsaNumbers,
  rsaPrivateFromNumbers,
  rsaPublicFromNumbers,
} from '@warder/pki/keys'
import { kmipFailure } from '../failure/failure.ts'
import type { ReadKey } from './parsed-key.ts'

/** The members of a transparent private key (KMIP 2.1 §3.1.4) in the order in which KMIP lists them. */
const privateMembers = [
  ['Modulus', 'n'],
  ['PrivateExponent', 'd'],
  ['PublicExponent', 'e'],
  ['P', 'p'],
  ['Q', 'q'],
  ['PrimeExponentP', 'dp'],
  ['PrimeExponentQ', 'dq'],
  ['CRTCoefficient', 'qi'],
] as const satisfies readonly (readonly [TagName, keyof RsaNumbers])[]
const publicMembers = privateMembers.filter(([name]) => name === 'Modulus' || name === 'PublicExponent')

/** The modulus has to be there, and enough to compute the rest. @throws PkiError */
export function rsaPrivateFromTransparent(material: StructureNode, policy: KeyPolicy): ReadKey {
  const given: Partial<Record<keyof RsaNumbers, Uint8Array>> = {}
  const members: TagName[] = []
  for (const [name, number] of privateMembers) {
    const value = numberOf(material, name)
    if (value === undefined) continue
    given[number] = value
    members.push(name)
  }
  const parsed = rsaPrivateFromNumbers(given, policy)
  return members.length === privateMembers.length ? parsed : { ...parsed, members }
}

export function rsaPublicFromTransparent(material: StructureNode, policy: KeyPolicy): ReadKey {
  const [n, e] = [numberOf(material, 'Modulus'), numberOf(material, 'PublicExponent')]
  if (n === undefined || e === undefined)
    throw kmipFailure('InvalidField', 'An RSA public key has a modulus and a public exponent.')
  return rsaPublicFromNumbers(n, e, policy)
}

/** @param members those to write of a private key; all when undefined */
export function rsaToTransparent(
  type: 'PrivateKey' | 'PublicKey',
  canonical: Uint8Array,
  members: readonly TagName[] | undefined,
): StructureNode {
  const numbers = readRsaNumbers(type, canonical)
  return structure(
    Tag.KeyMaterial,
    (type === 'PublicKey' ? publicMembers : privateMembers).map(([name, number]) => {
      const value = numbers[number]
      const wanted = members === undefined || type === 'PublicKey' || members.includes(name)
      return value === undefined || !wanted ? undefined : unsignedInteger(Tag[name], value)
    }),
  )
}

function numberOf(material: StructureNode, name: TagName): Uint8Array | undefined {
  const value = optional(material, Tag[name], 'BigInteger')
  return value === undefined ? undefined : unsignedBytes({ tag: Tag[name], type: 'BigInteger', value })
}
