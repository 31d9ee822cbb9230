import { failure } from '@warder/base'
import {
  type AlgorithmPolicy,
  algorithms,
  type BackendKey,
  type CryptographicParameters,
  joseSignature,
  planSignature,
  refuse,
} from '@warder/keys'
import { type CertificateSigner, certificateSigner, rsaSignatureAlgorithm } from '@warder/pki'

/**
 * How a stored key signs certificates, CRLs and OCSP responses: inside its backend, by an algorithm that relying
 * parties support (RFC 4055 §3 and §5, RFC 5758 §3.2, RFC 8410, RFC 9881, RFC 9909).
 * @param boundAlg the one JOSE algorithm of the key; undefined: it is not bound
 * @throws CryptoFailure for keys that do not sign, Failure unsupported_algorithm for what the policy does not permit,
 *   crypto_failure for a key that is bound to something else, PkiError `cannot_sign`
 */
export function createSigner(
  held: BackendKey,
  policy: AlgorithmPolicy,
  boundAlg: string | undefined,
): CertificateSigner {
  const { publicKey, shape } = held
  if (publicKey === undefined) throw refuse('wrong_key', 'Certificates must be signed with a private key.')
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const plan = planSignature(shape, parametersFor(held, boundAlg), policy, 'sign')
  if (boundAlg !== undefined && !joseSignature(shape, plan).includes(boundAlg))
    throw failure('crypto_failure', `The key is bound to ${boundAlg}: it cannot sign certificates.`)
  const algorithm =
    plan.scheme === 'pkcs1' || plan.scheme === 'pss'
      ? rsaSignatureAlgorithm(plan.scheme, plan.hash.node as 'sha256')
      : certificateSigner(publicKey, spki).algorithm
  return { algorithm, sign: async (data) => held.sign(plan, { data }) }
}

/** For RSA PKCS#1 v1.5 with SHA-256, unless it is bound; for EC a hash as strong as the curve (SP 800-57 part 1, table 3). */
function parametersFor({ shape }: BackendKey, boundAlg: string | undefined): CryptographicParameters {
  switch (shape.asymmetricKeyType) {
    case 'rsa':
      return rsaParameters(boundAlg)
    case 'ec':
      return { hashingAlgorithm: selectHash(shape.asymmetricKeyDetails?.namedCurve) }
    default:
      return {}
  }
}

function rsaParameters(boundAlg = 'RS256'): CryptographicParameters {
  const row = algorithms[boundAlg]
  const plan = row?.use === 'signature' ? row.plan : undefined
  return plan?.scheme === 'pkcs1' || plan?.scheme === 'pss'
    ? {
        paddingMethod: plan.scheme === 'pss' ? 'PSS' : 'PKCS1V1_5',
        hashingAlgorithm: plan.hash.name,
      }
    : { paddingMethod: 'PKCS1V1_5', hashingAlgorithm: 'SHA_256' }
}

function selectHash(curve: string | undefined): 'SHA_256' | 'SHA_384' | 'SHA_512' {
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
