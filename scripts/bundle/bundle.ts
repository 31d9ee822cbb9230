import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { readdress } from './addresses.ts'
import { bundledName, entryPoints, packages, root, unbundled } from './entry-points.ts'
import { noticesOf, packageOf } from './notices.ts'

export const noticesName = 'THIRD-PARTY-NOTICES.txt'

/**
 * Makes a program of few files from the packages of the workspace and the npm packages that they need: `bin/warder.mjs`
 * starts it, `code/` has what is loaded. Names and lines stay as they are written, so that it can be read.
 * @param folder is made anew
 * @throws Error with what esbuild said, or what the bundle would miss
 */
export async function bundle(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const code = join(folder, 'code')
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
    absWorkingDir: root,
    entryPoints: entryPoints.map((path) => ({
      in: join(packages, path),
      out: bundledName(path).replace(/\.js$/, ''),
    })),
    outdir: code,
    chunkNames: 'part-[hash]',
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node26', metafile: true },
    legalComments: 'none',
    logLevel: 'silent',
    external: unbundled.flatMap((name) => [name, `${name}/*`]),
    plugins: [addresses],
    // For CommonJS among the packages.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)",
    },
  })
  const unused = entryPoints.find((path) => !named.has(path))
  if (unused !== undefined)
    throw new Error(`no module names ${unused}, which is an entry point of the bundle`)
  for (const asset of assets) cpSync(join(packages, asset), join(code, bundledName(asset)))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  layOutCommand(join(folder, 'bin'))
  const folders = Object.keys(metafile.inputs).map(packageOf)
  writeFileSync(
    join(folder, noticesName),
    noticesOf([...new Set(folders.filter((each) => each !== undefined))]),
  )
}

function layOutCommand(bin: string): void {
  const from = join(packages, 'warder', 'bin')
  mkdirSync(bin)
  cpSync(join(from, 'handover.mjs'), join(bin, 'handover.mjs'))
  const entry = readFileSync(join(from, 'warder.mjs'), 'utf8')
  const moved = entry.replace("'../main.ts'", "'../code/warder-main.js'")
  writeFileSync(join(bin, 'warder.mjs'), moved)
}
