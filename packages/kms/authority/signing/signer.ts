import { type CertificateSigner, certificateSigner } from '@warder/pki/x509'
import type { BackendKey } from '../../backend/index.ts'
import {
  type AlgorithmPolicy,
  type CryptographicParameters,
  planSignature,
  refuse,
} from '../../crypto/index.ts'

/**
 * How a stored key signs certificates, CRLs and answers of OCSP: where the backend keeps it, by the algorithm that
 * relying parties know (RFC 4055 §5, RFC 5758 §3.2, RFC 8410, RFC 9881, RFC 9909).
 * @throws CryptoFailure for keys that do not sign, Failure unsupported_algorithm for what the policy does not permit,
 *   PkiError `cannot_sign`
 */
export function signerOf(held: BackendKey, policy: AlgorithmPolicy): CertificateSigner {
  const { publicKey } = held
  if (publicKey === undefined) throw refuse('wrong_key', 'Certificates are signed with a private key.')
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const plan = planSignature(held.shape, parametersFor(held), policy, 'sign')
  const { algorithm } = certificateSigner(publicKey, spki)
  return { algorithm, sign: async (data) => held.sign(plan, { data }) }
}

/** A hash as strong as the curve, the same as `certificateSigner` names (SP 800-57 part 1, table 3). */
function parametersFor({ shape }: BackendKey): CryptographicParameters {
  switch (shape.asymmetricKeyType) {
    case 'rsa':
      return { paddingMethod: 'PKCS1V1_5', hashingAlgorithm: 'SHA_256' }
    case 'ec':
      return { hashingAlgorithm: hashOf(shape.asymmetricKeyDetails?.namedCurve) }
    default:
      return {}
  }
}

function hashOf(curve: string | undefined): 'SHA_256' | 'SHA_384' | 'SHA_512' {
  switch (curve) {
    case 'secp384r1':
    case 'brainpoolP384r1':
      return 'SHA_384'
    case 'secp521r1':
    case 'brainpoolP512r1':
      return 'SHA_512'
    default:
      return 'SHA_256'
  }
}
