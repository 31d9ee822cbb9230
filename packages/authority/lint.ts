import { failure } from '@warder/base'
import { derBitString, derSequence, lintWritten } from '@warder/pki'

/** Placeholder of the signature, which no rule checks. */
const noSignature = derBitString(Buffer.alloc(64))

/**
 * Requires that a certificate about to be signed breaks no rule of the standards.
 * @param data the certificate without algorithm and signature
 * @throws Failure bad_request with the first rule that it breaks
 */
export function requireClean(data: Uint8Array, algorithm: Uint8Array): void {
  const [first] = lintWritten(derSequence(data, algorithm, noSignature)).filter(
    ({ severity }) => severity === 'error',
  )
  if (first !== undefined)
    throw failure('bad_request', `The certificate is not issued: ${first.sentence} (${first.clause})`)
}
