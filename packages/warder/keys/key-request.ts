import type { Input } from '@warder/client'
import { UsageError } from '@warder/command-line'
import { keyAlgorithms } from '@warder/command-line/kms'

export type KeyRequest = Input<'crypto.keys.create'>['body']

export interface KeyOptions {
  readonly kty: string | undefined
  readonly alg: string | undefined
  readonly crv: string | undefined
  readonly bits: number | undefined
  readonly tags: readonly string[]
  /** The key cannot be exported over KMIP. */
  readonly notExtractable: boolean
}

/** Builds the request for a new key; the algorithm determines its type and curve. @throws UsageError */
export function buildGenerateRequest({ kty, alg, crv, bits, tags, notExtractable }: KeyOptions): KeyRequest {
  const declared = keyAlgorithms.get(alg ?? '')
  const type = kty ?? declared?.kty
  if (type === undefined) {
    throw new UsageError(
      alg === undefined
        ? 'give the kind of key: --alg ALG, or --kty TYPE'
        : `--alg must be one of ${[...keyAlgorithms.keys()].join(', ')}`,
    )
  }
  const curve = crv ?? declared?.crv
  return {
    kty: type,
    ...(alg !== undefined && { alg }),
    ...(curve !== undefined && { crv: curve }),
    ...(bits !== undefined && { bits }),
    ...(tags.length > 0 && { tags }),
    ...(notExtractable && { ext: false }),
  }
}
