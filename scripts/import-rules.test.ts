import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Packages below all: they import only each other, in this order. */
const libraries = [
  'base',
  'outbound',
  'storage',
  'audit',
  'server',
  'runtime',
  'pki',
  'crypto',
  'pkcs11',
  'kmip-codec',
  'covercrypt',
]

/**
 * Allowed imports of production code. `keys`, `identity` and `authority` decide; the front ends above them translate a
 * protocol and never import each other; `kms` composes them. The two services meet over HTTP.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  pki: ['base'],
  crypto: ['base', 'pki'],
  pkcs11: ['base'],
  'kmip-codec': ['base'],
  covercrypt: ['base'],
  outbound: ['base'],
  storage: ['base', 'crypto', 'pki'],
  audit: ['base', 'outbound', 'pki', 'storage'],
  server: ['audit', 'base', 'outbound', 'pki', 'storage'],
  runtime: ['audit', 'base', 'outbound', 'pki', 'server', 'storage'],
  'root-key-providers': ['base', 'kmip-codec', 'outbound', 'pkcs11', 'pki', 'runtime', 'storage'],
  console: ['base', 'client', 'server'],
  keys: libraries,
  identity: [...libraries, 'keys'],
  authority: [...libraries, 'keys'],
  'kmip-server': [...libraries, 'keys', 'identity', 'authority'],
  'external-stores': [...libraries, 'keys'],
  transit: [...libraries, 'keys'],
  kms: [
    ...libraries,
    ...['console', 'keys', 'identity', 'authority', 'kmip-server', 'external-stores', 'transit'],
  ],
  auth: ['audit', 'base', 'console', 'outbound', 'pki', 'runtime', 'server', 'storage'],
  client: ['base', 'outbound', 'server'],
  'command-line': ['base', 'client', 'pki'],
  warder: [
    ...libraries,
    'client',
    'command-line',
    'keys',
    'root-key-providers',
    'external-stores',
    'auth',
    'kms',
  ],
}

const isProduct = (file: string): boolean =>
  !/node_modules|\.test\.ts$|(^|\/)(?:testing|fixtures)\//.test(file)

function listImports(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  const pattern =
    /(?:^|\n)\s*(?:import|export)[^'"\n]*?(?:\{[^}]*\}[^'"\n]*?)?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s+['"]([^'"]+)['"]/g
  return [...source.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

test('every package has its line', () => {
  assert.deepEqual(
    globSync('packages/*/package.json', { cwd: root })
      .map((file) => dirname(file).slice('packages/'.length))
      .sort(),
    Object.keys(allowed).sort(),
  )
})

for (const [name, may] of Object.entries(allowed)) {
  test(`packages/${name} imports only ${may.length === 0 ? 'itself' : may.join(', ')}, by what they offer`, () => {
    const folder = join(root, 'packages', name)
    const wrong: string[] = []
    for (const found of globSync('**/*.{ts,tsx}', { cwd: folder }).map((file) => file.replaceAll(sep, '/'))) {
      const file = join(folder, found)
      for (const specifier of listImports(file)) {
        const isPackage = /^(?:@warder\/|warder(?:\/|$))/.test(specifier)
        const target = isPackage
          ? (specifier.replace('@warder/', '').split('/')[0] ?? '')
          : specifier.startsWith('.')
            ? (relative(join(root, 'packages'), join(dirname(file), specifier)).split(sep)[0] ?? '')
            : name
        if (isPackage && target === name) wrong.push(`${found} imports ${specifier}`)
        if (target === name) continue
        if (!isPackage || (isProduct(found) && (!may.includes(target) || specifier.endsWith('/testing'))))
          wrong.push(`${found} imports ${specifier}`)
      }
    }
    assert.deepEqual(wrong, [])
  })
}

test('only packages, and their folders for tests, have an index', () => {
  const files = globSync('packages/**/index.ts', { cwd: root }).map((file) => file.replaceAll(sep, '/'))
  assert.ok(files.length > 10)
  for (const file of files.filter((found) => !found.includes('node_modules')))
    assert.match(file, /^packages\/[\w-]+\/(?:testing\/)?index\.ts$/)
})

/**
 * The words of other packages; `auth_method`, `authTag` and the like are of cryptography and of the audit record, and
 * `auth: { user` is an option of nodemailer.
 */
const foreign = [/kmip|ttlv/i, /\b(?:kms|auth)\b(?!: \{ user)/i, /\b(?:KMS|AUTH)_/]

test('the packages of the server know neither KMIP nor the names of the services', () => {
  const files = globSync('packages/{base,outbound,storage,audit,server,runtime}/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll(sep, '/'))
    .filter(isProduct)
  assert.ok(files.length > 100)
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .map((line, index) => `${file}:${index + 1}: ${line}`)
      .filter((line) => foreign.some((word) => word.test(line.slice(line.indexOf(': '))))),
  )
  assert.deepEqual(found, [])
})

/** The files of a package that run in the product, and which of them each one imports. */
function importGraph(name: string): ReadonlyMap<string, readonly string[]> {
  const folder = join(root, 'packages', name)
  const files = globSync('**/*.{ts,tsx}', { cwd: folder })
    .map((found) => found.replaceAll(sep, '/'))
    .filter((file) => !/node_modules|\.test\.ts$|(^|\/)testing\/|\/fixtures\//.test(file))
  return new Map(
    files.map((file) => {
      const inside = listImports(join(folder, file)).filter((specifier) => specifier.startsWith('.'))
      const targets = inside.map((specifier) => join(dirname(file), specifier).replaceAll(sep, '/'))
      return [file, targets.filter((one) => files.includes(one))]
    }),
  )
}

/** The first cycle found, as a path that ends where it begins; undefined where there is none. */
function cycleIn(graph: ReadonlyMap<string, readonly string[]>): string | undefined {
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): string | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node].join(' -> ')
    if (done.has(node)) return undefined
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node])
      if (cycle !== undefined) return cycle
    }
    done.add(node)
    return undefined
  }
  for (const node of graph.keys()) {
    const cycle = visit(node, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

/**
 * Which folders the files of each folder import from; a file beside the folders of a package, or of the page of the
 * console, counts by itself.
 */
function folderGraph(files: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
  const folders = new Map<string, Set<string>>()
  const toFolder = (file: string): string => (['.', 'page'].includes(dirname(file)) ? file : dirname(file))
  for (const [file, targets] of files) {
    const from = toFolder(file)
    const others = folders.get(from) ?? new Set()
    for (const to of targets.map(toFolder)) if (to !== from) others.add(to)
    folders.set(from, others)
  }
  return new Map([...folders].map(([from, to]) => [from, [...to]]))
}

for (const name of Object.keys(allowed)) {
  test(`packages/${name} has no cycle between folders`, () => {
    const files = [...importGraph(name)].filter(([file]) => file !== 'index.ts')
    assert.equal(cycleIn(folderGraph(new Map(files))), undefined)
  })
}

test('the search for cycles finds them, and counts folders apart from files', () => {
  const files = new Map([
    ['a/one.ts', ['b/two.ts']],
    ['b/two.ts', []],
    ['b/three.ts', ['a/four.ts']],
    ['a/four.ts', []],
  ])
  assert.equal(cycleIn(files), undefined)
  assert.equal(cycleIn(folderGraph(files)), 'a -> b -> a')
  assert.equal(cycleIn(new Map([...files, ['b/two.ts', ['a/one.ts']]])), 'a/one.ts -> b/two.ts -> a/one.ts')
  const besideFolders = new Map([
    ['compose.ts', ['a/one.ts']],
    ['a/one.ts', ['names.ts']],
    ['names.ts', []],
  ])
  assert.equal(cycleIn(folderGraph(besideFolders)), undefined)
  const throughNames = folderGraph(new Map([...besideFolders, ['names.ts', ['a/four.ts']]]))
  assert.equal(cycleIn(throughNames), 'a -> names.ts -> a')
  const auth = importGraph('auth')
  assert.ok(auth.get('service.ts')?.includes('build.ts'), 'dynamic imports count')
  assert.ok(auth.get('operations.ts')?.includes('settings.ts'), 'imports of types count')
})

test('the import scanner sees static, multi-line, re-exporting and dynamic imports', () => {
  const found = listImports(fileURLToPath(import.meta.url))
  assert.ok(found.includes('node:assert/strict'))
})
