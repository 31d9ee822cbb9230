import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { buildConsole, listPackages } from '../../packages/console/build.ts'
import { readdress } from './addresses.ts'
import { entryPoints, packages, root, toBundleName, unbundled } from './entry-points.ts'
import { findPackage, readNotices } from './notices.ts'
import { packageNames } from './package-names.ts'

export const noticesName = 'THIRD-PARTY-NOTICES.txt'

/** How modules are found and joined: as Node finds them for `import` and `require`. */
export const resolution: BuildOptions = {
  absWorkingDir: root,
  ...{ bundle: true, format: 'esm', platform: 'node', target: 'node26' },
  external: unbundled.flatMap((name) => [name, `${name}/*`]),
  // Conditions of Node in `exports`, besides `node`, `import` or `require`, and `default`. Node reads no `module` of a
  // manifest.
  conditions: ['module-sync', 'node-addons'],
  mainFields: ['main'],
  // For CommonJS among the packages.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)",
  },
}

/**
 * Makes a program of few files from the packages of the workspace and the npm packages that they need: `bin/warder.mjs`
 * starts it, `code/` contains the loaded modules. Names and lines stay as they are written, so that it can be read.
 * @param folder is made anew
 * @returns which module is in which file @throws Error with the message of esbuild, or the names that the bundle would
 *   lack
 */
export async function bundle(folder: string): Promise<Metafile> {
  rmSync(folder, { recursive: true, force: true })
  const code = join(folder, 'code')
  await buildConsole()
  const named = new Set<string>(['warder/main.ts'])
  const assets = new Set<string>()
  const addresses: Plugin = {
    name: 'addresses',
    setup({ onLoad }) {
      onLoad({ filter: /[/\\]packages[/\\].*\.ts$/ }, ({ path }) => {
        const source = readFileSync(path, 'utf8')
        if (!source.includes('import.meta')) return { contents: source, loader: 'ts' }
        const moved = readdress(path, source)
        for (const asset of moved.assets) assets.add(asset)
        for (const entry of moved.entries) named.add(entry)
        return { contents: moved.source, loader: 'ts' }
      })
    },
  }
  const { metafile } = await build({
    ...resolution,
    entryPoints: entryPoints.map((path) => ({
      in: join(packages, path),
      out: toBundleName(path).replace(/\.js$/, ''),
    })),
    outdir: code,
    chunkNames: 'part-[hash]',
    ...{ splitting: true, metafile: true },
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [addresses, packageNames],
  })
  const unused = entryPoints.find((path) => !named.has(path))
  if (unused !== undefined)
    throw new Error(`no module names ${unused}, which is an entry point of the bundle`)
  for (const asset of assets)
    cpSync(join(packages, asset), join(code, toBundleName(asset)), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  layOutCommand(join(folder, 'bin'))
  const folders = [...Object.keys(metafile.inputs).map(findPackage), ...listPackages()]
  writeFileSync(
    join(folder, noticesName),
    readNotices([...new Set(folders.filter((each) => each !== undefined))]),
  )
  return metafile
}

function layOutCommand(bin: string): void {
  const from = join(packages, 'warder', 'bin')
  mkdirSync(bin)
  cpSync(join(from, 'handover.mjs'), join(bin, 'handover.mjs'))
  const entry = readFileSync(join(from, 'warder.mjs'), 'utf8')
  const moved = entry.replace("'../main.ts'", "'../code/warder-main.js'")
  writeFileSync(join(bin, 'warder.mjs'), moved)
}
