import { dirname, join, relative } from 'node:path'
import { entryPoints, packageEntryPoints, packages, toBundleName } from './entry-points.ts'

/** Beside the folder of a bundle's code, as beside the packages' in a checkout. */
const commandFolder = join(packages, 'warder', 'bin')

export interface Readdressed {
  readonly source: string
  /** Files beside the module that it reads: paths below `packages/`. */
  readonly assets: readonly string[]
  /** Entry points that it names. */
  readonly entries: readonly string[]
}

/**
 * Replaces addresses relative to a module by those of a bundle.
 * @param file path of the module
 * @throws Error for an address that is no literal, or of a module that is no entry point: a bundle cannot contain it
 */
export function readdress(file: string, source: string): Readdressed {
  const assets: string[] = []
  const entries: string[] = []
  const entry = (path: string): string => {
    if (!(entryPoints as readonly string[]).includes(path))
      throw new Error(`${file} names ${path}, which scripts/bundle/entry-points.ts does not list`)
    entries.push(path)
    return `./${toBundleName(path)}`
  }
  const rest = source
    .replaceAll(/new URL\('(\.[^']*)', import\.meta\.url\)/g, (_, address: string) => {
      const target = join(dirname(file), address)
      const path = relative(packages, target).replaceAll('\\', '/')
      if (dirname(target) === commandFolder)
        return `new URL('../bin/${path.slice('warder/bin/'.length)}', ADDRESS)`
      if (path.endsWith('.ts')) return `new URL('${entry(path)}', ADDRESS)`
      assets.push(path)
      return `new URL('./${toBundleName(path)}', ADDRESS)`
    })
    .replaceAll(/import\.meta\.resolve\('([^']*)'\)/g, (all, name: string) => {
      const path = packageEntryPoints[name]
      return path === undefined ? all : `import.META.resolve('${entry(path)}')`
    })
    .replaceAll('createRequire(import.meta.url)', 'createRequire(ADDRESS)')
  if (rest.includes('import.meta'))
    throw new Error(`${file} uses import.meta in a way that scripts/bundle/addresses.ts does not know`)
  return {
    source: rest.replaceAll('import.META', 'import.meta').replaceAll('ADDRESS)', 'import.meta.url)'),
    assets,
    entries,
  }
}
