import { diffieHellman, type KeyObject } from 'node:crypto'
import type { AlgorithmPolicy } from '../../../crypto/index.ts'
import { permit, requireOutsideFips } from './policy.ts'
import { cryptographicFailure, refuse } from './refusal.ts'
import { publicOf } from './rsa-encryption.ts'

const types: ReadonlySet<string> = new Set(['ec', 'x25519', 'x448', 'dh'])

/**
 * The raw shared secret of two keys of one kind: ECDH (SP 800-56A §5.7.1.2), X25519 and X448 (RFC 7748), DH. Points that
 * give no secret (RFC 7748 §6.1) are refused by OpenSSL.
 * @param other the public key, or a private one whose public half is used
 * @throws InvalidField for keys that do not go together, CryptographicFailure when there is no secret
 */
export function agree(own: KeyObject, other: KeyObject, policy: AlgorithmPolicy): Buffer {
  const type = own.asymmetricKeyType ?? ''
  if (own.type !== 'private' || !types.has(type) || other.asymmetricKeyType !== type)
    throw refuse(
      'InvalidField',
      'AsymmetricKey takes a private and a public key of one kind of key agreement.',
    )
  const curve = own.asymmetricKeyDetails?.namedCurve
  if (curve !== other.asymmetricKeyDetails?.namedCurve)
    throw refuse('InvalidField', 'The keys are of different curves.')
  if (type.startsWith('x')) requireOutsideFips(policy, type.toUpperCase())
  permit(policy, () => ({ algorithms: type === 'ec' ? ['EC', 'ECDH'] : type }))
  try {
    return diffieHellman({ privateKey: own, publicKey: other.type === 'private' ? publicOf(other) : other })
  } catch {
    throw cryptographicFailure()
  }
}
