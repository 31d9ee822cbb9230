import { everyPrincipal, externalPrefix, externalPrincipal, normalizeName } from '@warder/keys'
import type { Grantee } from '../granted-key.ts'

/** A key store of AWS: the path before `/kms/xks/v1`. */
export interface XksStore {
  readonly uriPrefix: string
  /** The first of the settings, which names without a path mean. */
  readonly isFirst: boolean
}

/** Beginning of the names of one key store in grants: `aws:/payments:`. */
export function storePrefix(uriPrefix: string): string {
  return externalPrincipal('aws', `${uriPrefix === '' ? '/' : uriPrefix}:`)
}

/**
 * Names by which a principal of a key store is granted and blocked: with the path of its store, and for the first store
 * also without a path. Grants made before names were normalized are found as they were written.
 */
function namesInStore({ uriPrefix, isFirst }: XksStore, principal: string): readonly string[] {
  const plain = externalPrincipal('aws', principal)
  const names = [normalizeName(`${storePrefix(uriPrefix)}${principal}`)]
  if (isFirst) names.push(normalizeName(plain), plain)
  return [...new Set(names)]
}

/** A principal of a key store, as AWS KMS names it. */
export function granteeInStore(store: XksStore, principal: string): Grantee {
  return {
    store: 'aws',
    names: namesInStore(store, principal),
    allUsers: namesInStore(store, everyPrincipal),
    ...(store.isFirst
      ? { beginning: externalPrefix('aws'), except: externalPrincipal('aws', '/') }
      : { beginning: storePrefix(store.uriPrefix) }),
  }
}

/** The path of the key store that a name in its normal form has; undefined: it has none. */
export function readStorePath(name: string): string | undefined {
  const [, path] = /^aws:(\/[A-Za-z0-9_/-]*):/.exec(name) ?? []
  return path === '/' ? '' : path
}
