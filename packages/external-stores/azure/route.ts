import type { Operation } from '@warder/server'
import type { ExternalStoreServices } from '../scope/services.ts'
import type { PoolAuthenticator } from './authenticate.ts'
import { ekmErrors } from './errors.ts'

/** The operations of one path prefix: their paths, their names, and the clients that are admitted. */
export interface EkmRoute {
  path(rest: string): string
  common(
    operation: string,
  ): Pick<
    Operation<ExternalStoreServices>,
    'name' | 'tag' | 'bodyLimit' | 'authenticate' | 'security' | 'errorShape'
  >
}

export const title = 'Azure EKM proxy'

/** Max bytes of a body: no wrapped key is larger. */
const bodyLimit = 64 * 1024

export function ekmPath(prefix: string): string {
  return prefix === '' ? '/azureekm' : `/azureekm/${prefix}`
}

export function ekmRoute(prefix: string, authenticate: PoolAuthenticator): EkmRoute {
  const suffix = prefix === '' ? '' : `.${prefix.replaceAll('/', '.')}`
  return {
    path: (rest) => `${ekmPath(prefix)}${rest}`,
    common: (operation) => ({
      name: `azure.ekm.${operation}${suffix}`,
      tag: title,
      bodyLimit,
      authenticate,
      security: ['azureMutualTls'],
      errorShape: ekmErrors,
    }),
  }
}
