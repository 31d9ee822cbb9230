import type { Input } from '@warder/client'
import { UsageError } from '../cli/command.ts'

export type KeyRequest = Input<'crypto.keys.create'>['body']

export interface KeyOptions {
  readonly kty: string | undefined
  readonly alg: string | undefined
  readonly crv: string | undefined
  readonly bits: number | undefined
  readonly tags: readonly string[]
  /** KMIP gives it to nobody. */
  readonly notExtractable: boolean
}

const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** What `--alg` may say where it says the type alone. */
const algorithms = [
  ...['A128GCM', 'A192GCM', 'A256GCM', 'RSA-OAEP-256', 'RSA-OAEP'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'MLDSA44', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
  ...['HS256', 'HS384', 'HS512'],
]

/** The type of key that an algorithm is for; what it does not know is for the service to judge. */
function ktyFor(alg: string | undefined): string | undefined {
  if (alg === undefined) return undefined
  if (/^(A\d+GCM|HS\d+)$/.test(alg)) return 'oct'
  if (/^(RS|PS)\d+$|^RSA-/.test(alg)) return 'RSA'
  if (/^ES\d+$/.test(alg)) return 'EC'
  if (alg === 'EdDSA') return 'OKP'
  if (/^ML-?DSA-?44$/.test(alg)) return 'AKP'
  return undefined
}

/** What to ask for when a key is generated: the algorithm alone says its type and curve. @throws UsageError */
export function generateRequest({ kty, alg, crv, bits, tags, notExtractable }: KeyOptions): KeyRequest {
  const type = kty ?? ktyFor(alg)
  if (type === undefined) {
    throw new UsageError(
      alg === undefined
        ? 'say which kind of key: --alg ALG, or --kty TYPE'
        : `--alg is one of ${algorithms.join(', ')}`,
    )
  }
  const curve = crv ?? curves[alg ?? '']
  return {
    kty: type,
    ...(alg !== undefined && { alg }),
    ...(curve !== undefined && { crv: curve }),
    ...(bits !== undefined && { bits }),
    ...(tags.length > 0 && { tags }),
    ...(notExtractable && { ext: false }),
  }
}
