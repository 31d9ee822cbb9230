import type { Operation } from '@warder/server'
import type { ExternalStoreServices } from '../scope/services.ts'
import type { AccessKeys } from '../stores/aws/access-keys.ts'
import type { XksStore } from '../stores/aws/store-names.ts'
import type { Authenticator } from './authenticate.ts'
import { xksErrors } from './errors.ts'

/** The operations of one path prefix: their paths, their names, and the access keys that may sign for them. */
export interface XksRoute {
  readonly store: XksStore
  /** Name of this node. */
  readonly node: string
  /** Nodes that serve AWS KMS. */
  readonly fleetSize: number
  /** The access keys that sign. */
  readonly accessKeys: AccessKeys
  path(rest: string): string
  common(
    operation: string,
  ): Pick<
    Operation<ExternalStoreServices>,
    'name' | 'tag' | 'bodyLimit' | 'authenticate' | 'security' | 'errorShape'
  >
}

export const title = 'AWS XKS proxy'

/** Above the 25 KB of the largest request of the API, and so small that the signature covers it before it is read on. */
const bodyLimit = 64 * 1024

export function xksRoute(
  store: XksStore,
  authenticate: Authenticator,
  { node, fleetSize, accessKeys }: Pick<XksRoute, 'node' | 'fleetSize' | 'accessKeys'>,
): XksRoute {
  const prefix = store.uriPrefix
  // The first of all prefixes is the usual one: its operations have the plain names.
  const suffix = prefix === '/aws' ? '' : `.${prefix === '' ? 'root' : prefix.slice(1).replaceAll('/', '.')}`
  return {
    store,
    node,
    fleetSize,
    accessKeys,
    path: (rest) => `${prefix}/kms/xks/v1${rest}`,
    common: (operation) => ({
      name: `aws.xks.${operation}${suffix}`,
      tag: title,
      bodyLimit,
      authenticate,
      security: ['awsSigV4'],
      errorShape: xksErrors,
    }),
  }
}
