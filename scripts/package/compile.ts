import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../bundle/entry-points.ts'

const noProduct = /(^|\/)(node_modules|testing|fixtures)(\/|$)|\.test\.ts$/

/**
 * Compiles packages to JavaScript, in the folders that they have here; other files than TypeScript are copied. Needed
 * because no Node strips types below `node_modules`.
 * @param sources folders and files below `packages/`
 * @param out is made anew
 * @throws Error with the message of the compiler
 */
export function compile(
  sources: readonly string[],
  out: string,
  { target, types }: { readonly target: 'es2022' | 'es2025'; readonly types: boolean },
): void {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const packages = join(root, 'packages')
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      ...{ noEmit: false, incremental: false, declaration: types, target },
      rewriteRelativeImportExtensions: true,
      ...{ outDir: out, rootDir: packages, typeRoots: [join(root, 'node_modules/@types')] },
    },
    include: sources.map((source) => join(packages, source.endsWith('.ts') ? source : `${source}/**/*.ts`)),
    exclude: ['*.test.ts', 'testing', 'fixtures'].map((name) => join(packages, '**', name)),
  }
  const file = join(out, 'tsconfig.json')
  writeFileSync(file, JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', file], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the packages do not compile:\n${stdout}`)
  rmSync(file)
  for (const found of globSync('**/*.{js,d.ts}', { cwd: out })) nameCompiled(join(out, found))
  for (const source of sources)
    for (const found of globSync(`${source}/**/*`, { cwd: packages, withFileTypes: true })) {
      const path = join(found.parentPath, found.name).slice(packages.length + 1)
      if (!found.isFile() || noProduct.test(path) || path.endsWith('.ts')) continue
      mkdirSync(dirname(join(out, path)), { recursive: true })
      cpSync(join(packages, path), join(out, path))
    }
}

/** Imports in files of types are left as they are by the compiler. */
function nameCompiled(file: string): void {
  const text = readFileSync(file, 'utf8')
  const compiled = text.replaceAll(/((?:from|import\() ?['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2')
  if (compiled !== text) writeFileSync(file, compiled)
}
