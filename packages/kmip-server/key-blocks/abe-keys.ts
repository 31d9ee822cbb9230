import { abeBits, abeForm, abeThread, type KeyFormat } from '@warder/keys'
import type { TtlvNode } from '@warder/kmip-codec'
import type { KeyPolicy } from '@warder/pki'
import { kmipFailure } from '../failure/failure.ts'
import { materialBytes } from './key-format.ts'
import type { CryptographicAlgorithm, StoredShape } from './stored-shape.ts'

const formats: Readonly<Partial<Record<KeyFormat, 'PrivateKey' | 'PublicKey'>>> = {
  CoverCryptSecretKey: 'PrivateKey',
  CoverCryptPublicKey: 'PublicKey',
}

export function isAbeFormat(format: KeyFormat): boolean {
  return formats[format] !== undefined
}

/**
 * Reads the bytes of an attribute-based key: a private key is a master key or a user key. Reading it uses the thread of
 * attribute-based encryption.
 * @throws kmipFailure KeyFormatTypeNotSupported, InvalidField; rejects with a CovercryptError
 */
export async function readAbeKey(
  type: 'PrivateKey' | 'PublicKey',
  format: KeyFormat,
  material: TtlvNode,
  claims: { readonly algorithm: CryptographicAlgorithm | undefined; readonly bits: number | undefined },
  policy: KeyPolicy,
): Promise<Pick<StoredShape, 'algorithm' | 'bits' | 'abe'>> {
  if (formats[format] !== type)
    throw kmipFailure(
      'KeyFormatTypeNotSupported',
      'This key format type is not allowed for attribute-based keys.',
    )
  if (policy.fips === true)
    throw kmipFailure('InvalidField', 'Attribute-based encryption is not available in FIPS mode.')
  const { algorithm, bits } = claims
  if (algorithm !== undefined && algorithm !== 'CoverCrypt' && algorithm !== 'CoverCryptBulk')
    throw kmipFailure('InvalidField', 'The algorithm of the key differs from CryptographicAlgorithm.')
  const key = materialBytes(material)
  // cloudproof_kms_js sends the length in bytes (`packages/kmip-codec/json/tolerances.ts`).
  if (bits !== undefined && bits !== abeBits(key) && bits !== key.length)
    throw kmipFailure('InvalidField', 'The length of the key differs from CryptographicLength.')
  const kinds = type === 'PublicKey' ? (['public'] as const) : (['master', 'user'] as const)
  const { kind, nextAttributeId } = await abeThread.run({ type: 'recognise', key, kinds })
  const form = kind === 'master' ? { kind, nextAttributeId } : { kind }
  return { algorithm: 'CoverCrypt', bits: abeBits(key), abe: abeForm(key, form) }
}
