import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Who may import whom: `pki` is the lowest; the services never import each other, they meet over HTTP. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  pki: [],
  foundation: ['pki'],
  kmip: [],
  client: ['foundation'],
  auth: ['foundation'],
  kms: ['foundation', 'kmip', 'pki'],
  warder: ['foundation', 'kmip', 'pki', 'client', 'auth', 'kms'],
}

function importsOf(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  const pattern =
    /(?:^|\n)\s*(?:import|export)[^'"\n]*?(?:\{[^}]*\}[^'"\n]*?)?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g
  return [...source.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? '')
}

for (const [name, may] of Object.entries(allowed)) {
  test(`packages/${name} imports only ${may.length === 0 ? 'itself' : may.join(', ')}`, () => {
    const folder = join(root, 'packages', name)
    const wrong: string[] = []
    for (const found of globSync('**/*.ts', { cwd: folder })) {
      const file = join(folder, found)
      for (const specifier of importsOf(file)) {
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

test('files of packages/pki form no cycle of imports', () => {
  const folder = join(root, 'packages', 'pki')
  const graph = new Map(
    globSync('**/*.ts', { cwd: folder }).map((found) => {
      const file = join(folder, found)
      const targets = importsOf(file).filter((specifier) => specifier.startsWith('.'))
      return [file, targets.map((specifier) => join(dirname(file), specifier))] as const
    }),
  )
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(
      !path.includes(file),
      `cycle: ${[...path, file].map((each) => relative(folder, each)).join(' -> ')}`,
    )
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
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
  const found = importsOf(fileURLToPath(import.meta.url))
  assert.ok(found.includes('node:assert/strict'))
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
