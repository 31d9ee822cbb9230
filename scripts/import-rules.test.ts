import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Allowed imports: `pki` is the lowest; the services never import each other, they meet over HTTP. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  pki: [],
  covercrypt: [],
  foundation: ['pki'],
  kmip: [],
  client: ['foundation'],
  auth: ['foundation'],
  kms: ['foundation', 'kmip', 'pki', 'covercrypt'],
  warder: ['foundation', 'kmip', 'pki', 'covercrypt', 'client', 'auth', 'kms'],
}

function listImports(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  const pattern =
    /(?:^|\n)\s*(?:import|export)[^'"\n]*?(?:\{[^}]*\}[^'"\n]*?)?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s+['"]([^'"]+)['"]/g
  return [...source.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

for (const [name, may] of Object.entries(allowed)) {
  test(`packages/${name} imports only ${may.length === 0 ? 'itself' : may.join(', ')}`, () => {
    const folder = join(root, 'packages', name)
    const wrong: string[] = []
    for (const found of globSync('**/*.ts', { cwd: folder })) {
      const file = join(folder, found)
      for (const specifier of listImports(file)) {
        const target = specifier.startsWith('@warder/')
          ? specifier.split('/')[1]
          : specifier === 'warder' || specifier.startsWith('warder/')
            ? 'warder'
            : specifier.startsWith('.')
              ? relative(join(root, 'packages'), join(dirname(file), specifier)).split(sep)[0]
              : name
        if (target !== name && !may.includes(target ?? '')) wrong.push(`${found} imports ${specifier}`)
      }
    }
    assert.deepEqual(wrong, [])
  })
}

/** The files of a package that run in the product, and which of them each one imports. */
function importGraph(name: string): ReadonlyMap<string, readonly string[]> {
  const folder = join(root, 'packages', name)
  const own = `@warder/${name}/`
  const files = globSync('**/*.ts', { cwd: folder })
    .map((found) => found.replaceAll(sep, '/'))
    .filter((file) => !/node_modules|\.test\.ts$|(^|\/)testing\/|\/fixtures\//.test(file))
  const resolveTarget = (file: string, specifier: string): string =>
    specifier.startsWith(own)
      ? `${specifier.slice(own.length)}/index.ts`
      : join(dirname(file), specifier).replaceAll(sep, '/')
  return new Map(
    files.map((file) => {
      const inside = listImports(join(folder, file)).filter(
        (specifier) => specifier.startsWith('.') || specifier.startsWith(own),
      )
      return [
        file,
        inside.map((specifier) => resolveTarget(file, specifier)).filter((one) => files.includes(one)),
      ]
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

/** Which folders the files of each folder import from; the folder of a package itself is `.`. */
function folderGraph(files: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
  const folders = new Map<string, Set<string>>()
  for (const [file, targets] of files) {
    const from = dirname(file)
    const others = folders.get(from) ?? new Set()
    for (const to of targets.map((target) => dirname(target))) if (to !== from) others.add(to)
    folders.set(from, others)
  }
  return new Map([...folders].map(([from, to]) => [from, [...to]]))
}

for (const name of Object.keys(allowed)) {
  test(`packages/${name} has no cycle between files`, () => {
    assert.equal(cycleIn(importGraph(name)), undefined)
  })

  test(`packages/${name} has no cycle between folders`, () => {
    assert.equal(cycleIn(folderGraph(importGraph(name))), undefined)
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
  const auth = importGraph('auth')
  assert.ok(auth.get('service.ts')?.includes('build.ts'), 'dynamic imports count')
  assert.ok(auth.get('services.ts')?.includes('settings.ts'), 'imports of types count')
})

test('packages/pki and the registry of errors hold no word of KMIP', () => {
  for (const file of globSync(['packages/pki/**/*.{ts,json}', 'packages/foundation/errors/*.ts'], {
    cwd: root,
  })) {
    const source = readFileSync(join(root, file), 'utf8')
    assert.doesNotMatch(source, /kmip|ttlv|@warder\/(?!pki)/i, file)
  }
})

test('the import scanner sees static, multi-line, re-exporting and dynamic imports', () => {
  const found = listImports(fileURLToPath(import.meta.url))
  assert.ok(found.includes('node:assert/strict'))
})

test('only the composition imports the KMIP front end; tests import its clients and fixtures', () => {
  const front = 'packages/kms/api/kmip/'
  const files = globSync('packages/**/*.ts', { cwd: root })
    .map((found) => found.replaceAll(sep, '/'))
    .filter((file) => !/node_modules/.test(file) && !file.startsWith(front))
  const importers = files.flatMap((file) =>
    listImports(join(root, file))
      .map((specifier) =>
        specifier.startsWith('.')
          ? join(dirname(file), specifier).replaceAll(sep, '/')
          : specifier.replace(/^@warder\//, 'packages/'),
      )
      .filter((target) => `${target}/`.startsWith(front))
      .map((target) => ({ file, target })),
  )
  const mayImport = ({ file, target }: { readonly file: string; readonly target: string }): boolean =>
    file.startsWith('packages/kms/service/') ||
    (/\.test\.ts$|\/testing\//.test(file) && /\/(testing|fixtures)(\/|$)/.test(target))
  assert.ok(importers.some(mayImport))
  assert.deepEqual(
    importers.filter((one) => !mayImport(one)),
    [],
  )
})

test('product code of a service does not touch the other service by path', () => {
  for (const [service, other] of [
    ['auth', 'kms'],
    ['kms', 'auth'],
  ] as const) {
    for (const file of globSync(`packages/${service}/**/*.ts`, { cwd: root })) {
      assert.ok(!readFileSync(join(root, file), 'utf8').includes(`packages/${other}/`), file)
    }
  }
})
