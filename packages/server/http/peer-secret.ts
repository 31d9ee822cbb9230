import { createHash, timingSafeEqual } from 'node:crypto'

/** Header by which services of this installation recognise each other. */
export const peerSecretHeader = 'x-warder-peer'

/** @returns a check whether a header equals the secret; without a secret it is always false */
export function createPeerSecretCheck(secret: string | undefined): (shown: unknown) => boolean {
  if (secret === undefined) return () => false
  const expected = digest(secret)
  return (shown) => typeof shown === 'string' && timingSafeEqual(digest(shown), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
