import { constants, type KeyObject, sign, verify } from 'node:crypto'

export type RsaHash = 'sha256' | 'sha384' | 'sha512'
export type RsaScheme = 'pkcs1' | 'pss'

/** RS256/384/512 or PS256/384/512 (RFC 7518 §3.3, §3.5; salt as long as the hash), signed on the thread pool. */
export function rsaSign(scheme: RsaScheme, hash: RsaHash, key: KeyObject, data: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign(hash, data, { key, ...paddingOf(scheme) }, (error, signature) => {
      if (error) reject(error)
      else resolve(signature)
    })
  })
}

/**
 * true when `signature` is right for `data`; any other bytes, of any length, are false. The length is checked here
 * (RFC 8017 §8.1.2 and §8.2.2, step 1): OpenSSL also takes a signature without its leading zero bytes, a second form
 * of the same signature.
 */
export function rsaVerify(
  scheme: RsaScheme,
  hash: RsaHash,
  key: KeyObject,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return (
    signature.length * 8 === bits + (-bits & 7) &&
    verify(hash, data, { key, ...paddingOf(scheme) }, signature)
  )
}

const pkcs1 = { padding: constants.RSA_PKCS1_PADDING } as const
const pss = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
} as const

function paddingOf(scheme: RsaScheme): typeof pkcs1 | typeof pss {
  return scheme === 'pss' ? pss : pkcs1
}
