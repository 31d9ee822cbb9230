import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../bundle/entry-points.ts'

/** Entry of a package in the lock file, with the hash of its archive. */
export interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly link?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly os?: string | readonly string[]
  readonly cpu?: string | readonly string[]
  readonly libc?: string | readonly string[]
}

/** Platform of a package, in the words of npm. */
export interface Platform {
  readonly os: 'linux'
  readonly cpu: 'x64' | 'arm64'
  readonly libc: 'glibc'
}

/** A package that is needed. */
export interface Needed extends Locked {
  readonly name: string
  /** Its folder in the installation: `node_modules/pg`. */
  readonly path: string
  /** The paths of the packages that it needs itself. */
  readonly needs: readonly string[]
}

type Packages = Readonly<Record<string, Locked>>

export function readLockedPackages(): Packages {
  return (JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Packages })
    .packages
}

/**
 * The packages of registries that packages of the workspace need when they run, with all that those need, by the lock file.
 * @param members folders of the workspace, with names of their dependencies: `['packages/kms', ['typebox']]`
 * @param platform leaves out optional packages that are made for others; absent: all of them stay
 * @returns sorted by path @throws Error if the lock file has no such package, or two members need two versions of one
 */
export function listNeededPackages(
  packages: Packages,
  members: readonly (readonly [string, readonly string[]])[],
  platform?: Platform,
): readonly Needed[] {
  const found = new Map<string, { readonly source: string; readonly needed: Needed }>()
  const take = (from: string, name: string, optional: boolean): string | undefined => {
    const source = resolvePackage(packages, from, name)
    if (source === undefined) {
      if (optional) return undefined
      throw new Error(`${from} needs ${name}, which the lock file does not have`)
    }
    const locked = packages[source] as Locked
    if (optional && platform !== undefined && !runsOn(locked, platform)) return undefined
    const path = source.replace(/^packages\/[^/]+\//, '')
    const before = found.get(path)
    if (before !== undefined && before.needed.version !== locked.version)
      throw new Error(`${source} and ${before.source} would be installed at one place in two versions`)
    if (before !== undefined) return path
    const entry = { source, needed: { ...locked, name, path, needs: [] as string[] } }
    found.set(path, entry)
    const optionals = Object.keys(locked.optionalDependencies ?? {})
    const required = Object.keys(locked.dependencies ?? {}).filter((each) => !optionals.includes(each))
    for (const each of required) entry.needed.needs.push(take(source, each, false) as string)
    for (const each of optionals) {
      const taken = take(source, each, true)
      if (taken !== undefined) entry.needed.needs.push(taken)
    }
    return path
  }
  for (const [folder, names] of members) for (const name of names) take(folder, name, false)
  return [...found.values()].map(({ needed }) => needed).toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** Folder in which Node finds a package: that of the importing package, else one above it. */
function resolvePackage(packages: Packages, from: string, name: string): string | undefined {
  for (
    let folder = from;
    ;
    folder = folder.replace(/(^|\/)(node_modules\/(@[^/]+\/)?[^/]+|packages\/[^/]+)$/, '')
  ) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    const locked = packages[path]
    if (locked !== undefined && locked.link !== true) return path
    if (folder === '') return undefined
  }
}

function runsOn({ os, cpu, libc }: Locked, platform: Platform): boolean {
  const allows = (list: string | readonly string[] | undefined, value: string): boolean =>
    list === undefined || [list].flat().includes(value)
  return allows(os, platform.os) && allows(cpu, platform.cpu) && allows(libc, platform.libc)
}
