import { createHash } from 'node:crypto'
import { failure, type Logger } from '@warder/base'
import {
  type Key,
  type ManagedObject,
  type ObjectId,
  publicAccess,
  publicKeysWithTag,
  versionsToTry,
  withheld,
} from '@warder/keys'
import { fromProbes, get, rawReply } from '@warder/server'
import { StorageUnavailable } from '@warder/storage'
import Type from 'typebox'
import { toPublicJwk } from './public-jwk.ts'
import { define, type RestServices } from './services.ts'

/** Tag of the public keys that are published without authentication. */
export const jwksTag = 'jwks'

/** Versions read per slot of the key set: most versions of a key may verify until a user deactivates them. */
const maxSlotChecks = 4

/**
 * The public keys that are Active and tagged `jwks`, the newest first, and whether there are more: then each owner has a
 * fair share of the places. Of a key that was rotated, all versions that may still verify, as places are left: the newest
 * version of every key, then the second of each.
 */
async function readKeySet(
  services: RestServices,
  log: Logger,
): Promise<{ readonly body: string; readonly truncated: boolean }> {
  const { db, jwksKeys } = services
  const found = await publicKeysWithTag(db, jwksTag, jwksKeys + 1)
  const shown: unknown[] = []
  let rest = found
    .slice(0, jwksKeys)
    .toSorted()
    .toReversed()
    .map((id) => versionsWith(services, id))
  let looks = jwksKeys * maxSlotChecks
  let cut = found.length > jwksKeys
  while (rest.length > 0 && looks > 0) {
    const more: typeof rest = []
    for (const versions of rest) {
      looks -= 1
      const next = await versions.next()
      if (next.done === true) continue
      more.push(versions)
      const jwk = formatKey(next.value, log)
      if (jwk === undefined) continue
      if (shown.length < jwksKeys) shown.push(jwk)
      else [cut, looks] = [true, 0]
    }
    rest = more
  }
  return { body: JSON.stringify({ keys: shown }), truncated: cut || (rest.length > 0 && looks <= 0) }
}

async function* versionsWith(services: RestServices, id: ObjectId): AsyncGenerator<Key, void, undefined> {
  const key = await services.keys.get(id)
  if (key !== undefined) yield* versionsToTry(services, key)
}

/** Skips an object that cannot be formatted, so that it does not make the whole key set fail. */
function formatKey(key: Key, log: Logger) {
  try {
    // The row may be older than its dates, and may have changed since it was listed.
    if (!standsForItself(key.object) || !mayStillVerify(key)) return undefined
    if (withheld(key.object) !== undefined) return undefined
    return toPublicJwk(key, 'verification')
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error
    log.warn(
      { object: key.object.id, detail: String(error) },
      'a public key cannot be published in the key set',
    )
    return undefined
  }
}

/** A key is listed while it is Active; a replaced version also after its deactivation, to verify its old signatures. */
function mayStillVerify({ object, state }: Key): boolean {
  return state === 'Active' || (state === 'Deactivated' && object.supersededAt !== undefined)
}

/** A public key, or a private one whose public half is derived from it: signatures name that one. */
function standsForItself({ type, linkedId }: ManagedObject): boolean {
  return type === 'PublicKey' || (type === 'PrivateKey' && linkedId === undefined)
}

/** `GET /.well-known/jwks.json`. */
export const jwks = define({
  name: 'jwks',
  reach: ['reveal public'],
  route: get('/.well-known/jwks.json'),
  summary: 'Public keys that are Active and tagged jwks',
  tag: 'Public keys',
  access: publicAccess,
  foreignParameters: fromProbes,
  cors: 'any-origin',
  audited: false,
  reply: Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.String())) }),
  replyContentType: 'application/jwk-set+json',
  cacheControl: 'public, max-age=60, must-revalidate',
  errors: { 304: 'Not changed since the given entity tag.', 404: 'The key set is not published.' },
  async act(_input, { services, request, log }) {
    if (services.jwksKeys === 0) throw failure('not_found', 'The key set is not published.')
    const { body, truncated } = await readKeySet(services, log)
    const etag = `W/"${createHash('sha256').update(body).digest('hex')}"`
    const headers = { ETag: etag, ...(truncated && { 'X-JWKS-Truncated': 'true' }) }
    if (names(request.headers['if-none-match'], etag)) return rawReply({ status: 304, headers })
    return rawReply({ raw: body, contentType: 'application/jwk-set+json', headers })
  },
})

/** RFC 9110 §13.1.2, weak comparison. */
function names(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some((tag) => opaque(tag) === opaque(etag))
}
