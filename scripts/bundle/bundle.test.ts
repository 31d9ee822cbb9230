import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire, findPackageJSON, isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Metafile } from 'esbuild'
import { listPackages } from '../../packages/console/build.ts'
import { bundle, noticesName, resolution } from './bundle.ts'
import { entryPoints, packageEntryPoints, root, toBundleName, unbundled } from './entry-points.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-bundle-'))
const code = join(folder, 'code')
let made: Metafile
before(async () => {
  made = await bundle(folder)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const read = (name: string): string => readFileSync(join(code, name), 'utf8')

test('the bundle has each entry point, and imports nothing but its parts, Node and what is not bundled', () => {
  for (const path of entryPoints) assert.ok(existsSync(join(code, toBundleName(path))), path)
  const imported = readdirSync(code)
    .filter((name) => name.endsWith('.js') && !name.includes('swagger'))
    .flatMap((name) => [...read(name).matchAll(/^(?:import|\} from|export .* from) .*?["']([^"']+)["'];$/gm)])
    .map(([, name = '']) => name)
  assert.ok(imported.length > 100)
  const foreign = imported.filter((name) => !/^(node:|\.\/part-)/.test(name))
  const known = (name: string): boolean =>
    unbundled.some((each) => name === each || name.startsWith(`${each}/`)) ||
    // CommonJS names the modules of Node without their scheme.
    isBuiltin(name) ||
    entryPoints.some((path) => name === `./${toBundleName(path)}`)
  assert.deepEqual([...new Set(foreign.filter((name) => !known(name)))], [])
})

/** Imports of the bundled modules by what stands in their sources. */
function importsOfSources() {
  return Object.entries(made.inputs).flatMap(([importer, { imports }]) =>
    imports.map(({ path, kind, original = path, external = false }) => ({
      importer: join(root, importer.replace(/\.names\.mjs$/, '')),
      // Of a package that is imported by `import()` the bundle has a module with its names.
      path: path.replace(/\.names\.mjs$/, ''),
      ...{ kind, original, external, bundled: path },
    })),
  )
}

/** The file that Node takes for an import, also where a package has a copy of another in its own folder. */
function fileOfImport(name: string, importer: string): string {
  const file = fileURLToPath(import.meta.resolve(name))
  const [here, there] = [import.meta.url, pathToFileURL(importer)].map((base) => findPackageJSON(name, base))
  if (here === undefined || there === undefined) return file
  return join(dirname(there), relative(dirname(here), file))
}

test('each import of a package is of the file that Node takes', () => {
  const packages = importsOfSources().filter(
    ({ original, external }) => !external && !isBuiltin(original) && /^[^./<(]/.test(original),
  )
  assert.ok(packages.length > 300)
  for (const { importer, path, kind, original } of packages) {
    const file =
      kind === 'require-call' ? createRequire(importer).resolve(original) : fileOfImport(original, importer)
    assert.equal(realpathSync(join(root, path)), realpathSync(file), `${original} of ${importer}`)
  }
})

test('each import() gives in the bundle the names that it gives in the sources, and values of their kind', async () => {
  const dynamic = importsOfSources().filter(({ kind, external }) => kind === 'dynamic-import' && !external)
  // Services are imported by their address.
  for (const path of Object.values(packageEntryPoints)) {
    const file = `packages/${path}`
    const named = { importer: '', kind: 'dynamic-import', external: false } as const
    dynamic.push({ ...named, path: file, original: file, bundled: file })
  }
  const parts = new Map(
    Object.entries(made.outputs).map(([file, { entryPoint }]) => [entryPoint, join(root, file)] as const),
  )
  const kinds = (module: object) =>
    new Map(Object.entries(module).map(([name, value]) => [name, typeof value] as const))
  for (const { path, bundled } of new Map(dynamic.map((each) => [each.bundled, each])).values()) {
    const source = await import(pathToFileURL(join(root, path)).href)
    const part = parts.get(bundled)
    assert.ok(part !== undefined, bundled)
    const { 'module.exports': _, ...names } = source
    const given = await import(pathToFileURL(part).href)
    assert.deepEqual(kinds(given), kinds(names), bundled)
    // Of CommonJS, `default` is the module itself.
    if ('module.exports' in source)
      assert.deepEqual(Object.keys(given.default), Object.keys(source.default), bundled)
  }
  for (const name of ['openid-client', '@zxcvbn-ts/core', './start/command.ts'])
    assert.ok(
      dynamic.some(({ original }) => original.endsWith(name)),
      name,
    )
})

test('what the sources import of a package by its name is there in the bundle', async () => {
  const imports = importsOfSources().filter(
    ({ importer, kind, original, external }) =>
      kind === 'import-statement' &&
      !external &&
      importer.startsWith(join(root, 'packages')) &&
      /^[^.]/.test(original) &&
      !original.startsWith('@warder/') &&
      !isBuiltin(original),
  )
  const specifiers = [...new Set(imports.map(({ original }) => original))]
  assert.ok(specifiers.length >= 5)
  const entry = specifiers.map((name, n) => `import * as n${n} from '${name}'`)
  const { outputFiles } = await build({
    ...resolution,
    stdin: {
      contents: `${entry.join('\n')}\nexport const all = [${specifiers.map((_, n) => `n${n}`)}]`,
      resolveDir: join(root, 'packages', 'kms'),
      sourcefile: 'names.mjs',
    },
    write: false,
  })
  const file = join(folder, 'names.mjs')
  writeFileSync(file, outputFiles?.[0]?.contents ?? '')
  const { all } = (await import(pathToFileURL(file).href)) as { readonly all: readonly object[] }
  for (const [n, name] of specifiers.entries()) {
    const source = Object.keys((await import(name)) as object).filter((each) => each !== 'module.exports')
    const given = Object.keys(all[n] ?? {})
    assert.deepEqual(
      source.filter((each) => !given.includes(each)),
      [],
      name,
    )
  }
})

test('the command of the bundle runs, and says the version of the workspace', () => {
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' }
  const words = [join(folder, 'bin', 'warder.mjs'), '--version']
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', env })
  assert.equal(stderr, '')
  const { version } = JSON.parse(readFileSync(join(root, 'packages/warder/package.json'), 'utf8')) as {
    version: string
  }
  assert.equal(stdout, `${version}\n`)
})

test('the notices name each package whose code is in the bundle, with the text of its licence', () => {
  const notices = readFileSync(join(folder, noticesName), 'utf8')
  const sources = readdirSync(code)
    .filter((name) => name.startsWith('part-'))
    .map(read)
    .join('')
  const bundled = new Set(
    [...sources.matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm)].map(([, name = '']) => name),
  )
  assert.ok(bundled.has('pg') && bundled.has('typebox'))
  for (const path of listPackages()) bundled.add(path.slice('node_modules/'.length))
  assert.ok(bundled.has('react') && bundled.has('react-aria-components'))
  for (const name of bundled) {
    const { version } = JSON.parse(
      readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
    ) as {
      version: string
    }
    assert.ok(notices.includes(`\n${name} ${version} (`), name)
  }
  assert.match(notices, /pg \d+\.\d+\.\d+ \(MIT\)\n\nMIT License\n\nCopyright \(c\) 2010 - \d+ Brian Carlson/)
})

test('the bundle has the files of the console, compressed, and their address', () => {
  const page = readFileSync(join(code, 'console-dist', 'index.html'), 'utf8')
  const files = [...page.matchAll(/"\/ui\/(assets\/[\w.-]+)"/g)].map(([, file = '']) => file)
  assert.ok(files.length >= 2)
  for (const file of files)
    for (const ending of ['', '.br', '.gz'])
      assert.ok(existsSync(join(code, 'console-dist', `${file}${ending}`)), `${file}${ending}`)
  assert.match(
    readdirSync(code)
      .filter((name) => name.startsWith('part-'))
      .map(read)
      .join(''),
    /\.\/console-dist/,
  )
})
