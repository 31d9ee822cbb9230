import { failure } from '@warder/base'
import { type AlgorithmPolicy, encodeBase64Url, jweHeader, keyFacts, requirePermitted } from '@warder/crypto'
import {
  abeAlgorithm,
  abeMaterial,
  abeThread,
  inFailures,
  type Key,
  requireAbe,
  sealRequest,
  UnitOfWork,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { abe } from './abe-keys.ts'
import type { RestServices } from './services.ts'

/** The only content encryption with `alg` ABE. */
const abeEncryption = 'A256GCM'
const nonceBytes = 12
const tagBytes = 16

/**
 * @throws failure('unsupported_algorithm') for algorithms that the policy does not permit, or another `enc`
 *   than A256GCM
 */
export function requireAbePermitted(enc: string, policy: AlgorithmPolicy): void {
  requirePermitted(policy, keyFacts({ algorithm: abeAlgorithm }))
  if (enc !== abeEncryption) throw failure('unsupported_algorithm', `enc: must be ${abeEncryption} for ABE.`)
}

/**
 * Encrypts for all user keys that satisfy the policy: the encapsulation is `encrypted_key`. The additional data are
 * those of the request alone, as with the deployed product.
 */
export async function sealAbe(
  { object }: Key,
  content: { readonly policy: string; readonly data: Uint8Array; readonly aad: Uint8Array },
  context: OperationContext<RestServices>,
) {
  requireAbe(object, 'public')
  const { policy, data, aad } = content
  context.audit({ details: { policy: policy.slice(0, 1024) } })
  const publicKey = await abeMaterial(new UnitOfWork(context.services, context.services.clock.now()), object)
  const framed = sealRequest(policy, data)
  const job = { type: 'seal', publicKey, framing: 'single', data: framed, aad } as const
  const { data: sealed } = await inFailures(abeThread.run(job))
  framed.fill(0)
  const whole = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const iv = whole.length - tagBytes - data.length - nonceBytes
  const part = (start: number, end?: number) => encodeBase64Url(whole.subarray(start, end))
  return {
    protected: jweHeader(abe, abeEncryption, object.id),
    encrypted_key: part(0, iv),
    iv: part(iv, iv + nonceBytes),
    ciphertext: part(iv + nonceBytes, -tagBytes),
    tag: part(-tagBytes),
    ...(aad.length > 0 && { aad: encodeBase64Url(Buffer.from(aad)) }),
  }
}

export interface SealedAbe {
  readonly encryptedKey: Uint8Array
  readonly iv: Uint8Array
  readonly ciphertext: Uint8Array
  readonly tag: Uint8Array
  readonly aad: Uint8Array
}

/** Decrypts with a user key. @throws failure('decryption_failed') for all causes */
export async function openAbe(
  { object }: Key,
  { encryptedKey, iv, ciphertext, tag, aad }: SealedAbe,
  context: OperationContext<RestServices>,
): Promise<Uint8Array> {
  const { policy } = requireAbe(object, 'user')
  if (policy !== undefined) context.audit({ details: { policy: policy.slice(0, 1024) } })
  const userKey = await abeMaterial(new UnitOfWork(context.services, context.services.clock.now()), object)
  const data = Buffer.concat([encryptedKey, iv, ciphertext, tag])
  try {
    return await inFailures(abeThread.run({ type: 'open', userKey, framing: 'single', data, aad }))
  } finally {
    userKey.fill(0)
  }
}
