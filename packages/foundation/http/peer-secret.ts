import { createHash, timingSafeEqual } from 'node:crypto'

/** Name of the header in which a service of this installation shows another that it is one. */
export const peerSecretHeader = 'x-warder-peer'

/** @returns whether a header shows the secret; without a secret none does */
export function createPeerSecretCheck(secret: string | undefined): (shown: unknown) => boolean {
  if (secret === undefined) return () => false
  const expected = digest(secret)
  return (shown) => typeof shown === 'string' && timingSafeEqual(digest(shown), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
