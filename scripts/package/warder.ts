import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../bundle/bundle.ts'
import { root, unbundled } from '../bundle/entry-points.ts'
import { createPackedManifest, foreignDependencies, readManifest } from './manifest.ts'

/** Pages that are installed, so that an operator can read them without a network. */
export const installedPages = [
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'docs',
]

/** Packages of the workspace that the command needs. */
export const bundled = [
  'base',
  'outbound',
  'pki',
  'crypto',
  'pkcs11',
  'kmip-codec',
  'covercrypt',
  'storage',
  'audit',
  'server',
  'runtime',
  'root-key-providers',
  'keys',
  'identity',
  'authority',
  'kmip-server',
  'external-stores',
  'transit',
  'console',
  'kms',
  'auth',
  'client',
  'command-line',
] as const

/**
 * Makes the folder of the npm package `warder`: the bundled command. Only packages that cannot be bundled come from the
 * registry, in the versions of the workspace; the Node that runs the services too, as an optional dependency for each
 * platform.
 * @param folder is made anew
 */
export async function stageWarder(folder: string): Promise<void> {
  await bundle(folder)
  const all = [readManifest('packages/warder'), ...bundled.map((name) => readManifest(`packages/${name}`))]
  const { exports: _, ...manifest } = createPackedManifest(readManifest('packages/warder'))
  const dependencies = Object.entries(foreignDependencies(all)).filter(([name]) => isUnbundled(name))
  const { optionalDependencies } = readManifest('.')
  const packed = { ...manifest, dependencies: Object.fromEntries(dependencies), optionalDependencies }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(packed, undefined, 2)}\n`)
  for (const page of installedPages) cpSync(join(root, page), join(folder, page), { recursive: true })
}

export const isUnbundled = (name: string): boolean => (unbundled as readonly string[]).includes(name)
