import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../bundle/entry-points.ts'

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly type: string
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly engines?: Readonly<Record<string, string>>
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest
}

/** Members that every packed manifest has. */
export function createPackedManifest({ name, version, description, license, type, exports, bin }: Manifest) {
  const compiled = Object.entries(exports ?? {}).map(([entry, file]) => [entry, file.replace(/\.ts$/, '.js')])
  return {
    ...{ name, version, description, license, type, engines: readManifest('.').engines },
    ...(bin !== undefined && { bin }),
    exports: Object.fromEntries(compiled),
  }
}

/** Dependencies of a package on registries, with the exact versions of the workspace. */
export function foreignDependencies(manifests: readonly Manifest[]): Readonly<Record<string, string>> {
  const all = manifests.flatMap(({ dependencies }) => Object.entries(dependencies ?? {}))
  return Object.fromEntries(all.filter(([name]) => !name.startsWith('@warder/')).toSorted())
}
