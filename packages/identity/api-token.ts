import { createHash, timingSafeEqual } from 'node:crypto'
import { principalNamed, unauthorized } from '@warder/keys'
import { bearerToken } from '@warder/server'
import { type Extractor, looksLikeJwt } from './cascade.ts'

export interface ApiTokenOptions {
  /** SHA-256 of the bytes of the token's key, if it exists, is symmetric and Active now, and has an accepted owner. */
  readonly digest: () => Promise<Uint8Array | undefined>
  readonly username: string
}

/**
 * A bearer token: the bytes of one symmetric key in standard base64. SHA-256 digests of the bytes are compared in
 * constant time, so that the comparison does not reveal the length either. An unusable key refuses all callers.
 */
export function apiToken({ digest, username }: ApiTokenOptions): Extractor {
  return async (request) => {
    const token = bearerToken(request)
    if (token === undefined || looksLikeJwt(token)) return undefined
    const bytes = Buffer.from(token, 'base64')
    if (bytes.length === 0 || bytes.toString('base64') !== token)
      throw unauthorized('the API token is not base64')
    const expected = await digest()
    if (expected === undefined)
      throw unauthorized('the key of the API token does not exist, is not Active, or has another owner')
    const given = createHash('sha256').update(bytes).digest()
    if (!timingSafeEqual(given, expected)) throw unauthorized('the API token is wrong')
    return principalNamed(username, 'api_token')
  }
}
