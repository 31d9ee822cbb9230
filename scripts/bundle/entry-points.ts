import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const packages = join(root, 'packages')

/**
 * Modules that are loaded by their address: the command, the services, processes and threads. All others are reached from
 * them by imports. Paths below `packages/`.
 */
export const entryPoints = [
  'warder/main.ts',
  'warder/start/settings-process.ts',
  'auth/index.ts',
  'auth/methods/saml/verification-thread.ts',
  'kms/index.ts',
  'keys/abe/abe-thread.ts',
  'keys/access/past-rights-thread.ts',
  'authority/crl/crl-thread.ts',
  'keys/bulk/bulk-thread.ts',
  'audit/examine-thread.ts',
  'audit/search/thread.ts',
  'pkcs11/token-process.ts',
  'runtime/fips/provider-process.ts',
  'runtime/lifecycle/worker-thread.ts',
  'storage/sql/sqlite-writer-thread.ts',
] as const

/** Entry points that code names by their package: `import.meta.resolve('@warder/kms')`. */
export const packageEntryPoints: Readonly<Record<string, string>> = {
  '@warder/auth': 'auth/index.ts',
  '@warder/kms': 'kms/index.ts',
}

/** npm packages that are not bundled: they load native code, WebAssembly or definitions from files beside their own. */
export const unbundled = [
  '@grpc/grpc-js',
  '@node-rs/argon2',
  '@xmldom/xmldom',
  'libsodium-wrappers-sumo',
  'protobufjs',
  'xml-crypto',
] as const

/**
 * File of a bundle for a file below `packages/`: all are in one folder, so that their address is `./NAME` for every
 * module.
 */
export function toBundleName(path: string): string {
  return path.replaceAll(/[/\\]/g, '-').replace(/\.ts$/, '.js')
}
