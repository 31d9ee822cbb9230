import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const foundation = fileURLToPath(new URL('../packages/foundation', import.meta.url))

/** The product's files: no tests, and nothing that only tests import. */
const sources = new Map(
  globSync('**/*.ts', { cwd: foundation })
    .filter((file) => !/(?:^|\/)(?:node_modules|fixtures|testing)\/|\.test\.ts$/.test(file))
    .map((file) => [file, readFileSync(join(foundation, file), 'utf8')] as const),
)

const specifiers = /(?:\bfrom\s+|\bimport\(\s*|^import\s+)['"](\.[^'"]+)['"]/gm

function importsOf(file: string): readonly string[] {
  const source = sources.get(file) ?? ''
  return [...source.matchAll(specifiers)].map(([, specifier = '']) =>
    normalize(join(dirname(file), specifier)),
  )
}

/** A cycle of the graph as a list of its nodes; undefined when there is none. */
function cycleOf(graph: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const done = new Set<string>()
  const path: string[] = []
  const visit = (node: string): readonly string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return undefined
    path.push(node)
    for (const next of graph.get(node) ?? []) {
      const found = visit(next)
      if (found !== undefined) return found
    }
    path.pop()
    done.add(node)
    return undefined
  }
  for (const node of graph.keys()) {
    const found = visit(node)
    if (found !== undefined) return found
  }
  return undefined
}

test('files of foundation form no cycle of imports, types included', () => {
  const graph = new Map([...sources.keys()].map((file) => [file, new Set(importsOf(file))]))
  assert.ok([...graph.values()].flatMap((targets) => [...targets]).every((target) => sources.has(target)))
  assert.equal(cycleOf(graph)?.join(' -> '), undefined)
})

test('folders of foundation form no cycle of imports, types included', () => {
  const graph = new Map<string, Set<string>>()
  for (const file of sources.keys()) {
    const from = dirname(file)
    const targets = graph.get(from) ?? new Set()
    graph.set(from, targets)
    for (const to of importsOf(file).map(dirname)) if (to !== from) targets.add(to)
  }
  assert.equal(cycleOf(graph)?.join(' -> '), undefined)
})

const sql =
  /(['"`])\s*(?:SELECT\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|(?:CREATE|DROP|ALTER)\s+TABLE\s|PRAGMA\s)/

test('SQL of foundation is in sql/ and in files named …-store.ts', () => {
  const found = [...sources].filter(([file, source]) => sql.test(source) && !/^sql\/|-store\.ts$/.test(file))
  assert.deepEqual(
    found.map(([file]) => file),
    [],
  )
  assert.ok(sql.test(sources.get('seal/seal-store.ts') ?? ''), 'the search sees SQL where there is some')
})

/** The words of other packages; `auth_method`, `authTag` and the like are of cryptography and of the audit record. */
const foreign = [/kmip|ttlv/i, /\b(?:kms|auth)\b/i, /\b(?:KMS|AUTH)_/, /@warder\/(?!pki)/]

test('foundation knows neither KMIP nor the names of the services', () => {
  const found = [...sources].flatMap(([file, source]) =>
    source
      .split('\n')
      .map((line, index) => `${file}:${index + 1}: ${line}`)
      .filter((line) => foreign.some((word) => word.test(line))),
  )
  assert.deepEqual(found, [])
})
