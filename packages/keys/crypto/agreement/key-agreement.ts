import { diffieHellman, type KeyObject } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'
import { permit, requireOutsideFips } from '../algorithms/permit.ts'
import type { AlgorithmPolicy } from '../algorithms/policy.ts'
import { getPublicHalf } from '../material/public-half.ts'

const types: ReadonlySet<string> = new Set(['ec', 'x25519', 'x448', 'dh'])

/**
 * The raw shared secret of two keys of one kind: ECDH (SP 800-56A §5.7.1.2), X25519 and X448 (RFC 7748), DH. Points that
 * give no secret (RFC 7748 §6.1) are refused by OpenSSL.
 * @param other the public key, or a private one whose public half is used
 * @throws invalid_input for keys that do not go together, failed when there is no secret
 */
export function agree(own: KeyObject, other: KeyObject, policy: AlgorithmPolicy): Buffer {
  const type = own.asymmetricKeyType ?? ''
  if (own.type !== 'private' || !types.has(type) || other.asymmetricKeyType !== type)
    throw refuse(
      'invalid_input',
      'AsymmetricKey requires a private and a public key of the same kind of key agreement.',
    )
  const curve = own.asymmetricKeyDetails?.namedCurve
  if (curve !== other.asymmetricKeyDetails?.namedCurve)
    throw refuse('invalid_input', 'The keys are on different curves.')
  if (type.startsWith('x')) requireOutsideFips(policy, type.toUpperCase())
  permit(policy, () => ({ algorithms: type === 'ec' ? ['EC', 'ECDH'] : type }))
  try {
    return diffieHellman({
      privateKey: own,
      publicKey: other.type === 'private' ? getPublicHalf(other) : other,
    })
  } catch {
    throw refuse('failed')
  }
}
