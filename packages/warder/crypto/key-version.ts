import { ClientError, type KmsClient } from '@warder/client'
import { withKeyErrors } from '@warder/command-line/kms'

/** The key and version of an id. Versions are counted from 1. */
export interface KeyVersion {
  readonly key: string
  readonly version: number
  readonly newest: { readonly version: number; readonly kid: string }
}

/**
 * Creates a cached lookup of key versions by id.
 * @returns a function that returns undefined for a key that does not exist or whose attributes are not readable
 */
export function createVersionFinder(kms: KmsClient): (kid: string) => Promise<KeyVersion | undefined> {
  const known = new Map<string, Promise<KeyVersion | undefined>>()
  return (kid) => {
    const found = known.get(kid) ?? findVersion(kms, kid)
    known.set(kid, found)
    return found
  }
}

async function findVersion(kms: KmsClient, kid: string): Promise<KeyVersion | undefined> {
  const describe = (id: string) =>
    withKeyErrors('key', id, () => kms.call('crypto.keys.get', { path: { kid: id } }))
  try {
    const named = await describe(kid)
    const { version_of: whole } = named
    const key = whole === undefined ? named : await describe(whole)
    return {
      key: key.kid,
      // For the id of a key, which is also that of version 1, the service returns the newest version.
      version: whole === undefined ? 1 : named.version,
      newest: { version: key.version, kid: key.version_kid ?? key.kid },
    }
  } catch (error) {
    const { cause } = error as Error
    if (cause instanceof ClientError && (cause.kind === 'forbidden' || cause.kind === 'not_found'))
      return undefined
    throw error
  }
}
