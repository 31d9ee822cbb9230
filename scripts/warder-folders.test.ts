import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../packages/warder', import.meta.url))

/** Code that runs for users: tests and what they stand on may look into every folder. */
const files = globSync('**/*.ts', { cwd: root }).filter(
  (file) => !/(^|\/)(node_modules|testing|scenarios)\/|\.test\.ts$/.test(file),
)

/** The files of the package that a file imports. */
function importsOf(file: string): string[] {
  const source = readFileSync(join(root, file), 'utf8')
  return [...source.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map((match) =>
    relative(root, join(root, dirname(file), match[1] ?? '')),
  )
}

/** The first cycle of a graph as a path that ends where it began; undefined when there is none. */
function cycleOf(graph: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return undefined
    for (const next of graph.get(node) ?? []) {
      const found = visit(next, [...path, node])
      if (found !== undefined) return found
    }
    done.add(node)
    return undefined
  }
  for (const node of graph.keys()) {
    const found = visit(node, [])
    if (found !== undefined) return found
  }
  return undefined
}

test('the files of the command form no cycle of imports', () => {
  assert.equal(cycleOf(new Map(files.map((file) => [file, new Set(importsOf(file))]))), undefined)
})

test('the folders of the command form no cycle of imports', () => {
  const folders = new Map<string, Set<string>>()
  for (const file of files) {
    const folder = dirname(file)
    const targets = folders.get(folder) ?? new Set()
    for (const target of importsOf(file)) if (dirname(target) !== folder) targets.add(dirname(target))
    folders.set(folder, targets)
  }
  assert.ok((folders.get('.')?.size ?? 0) > 5, 'main.ts imports a folder for each noun')
  assert.equal(cycleOf(folders), undefined)
})

test('cli/ knows no noun', () => {
  for (const file of files.filter((name) => dirname(name) === 'cli')) {
    for (const target of importsOf(file)) assert.equal(dirname(target), 'cli', `${file} imports ${target}`)
  }
})

test('a cycle is found, and told as a path', () => {
  const graph = new Map([
    ['a', new Set(['b'])],
    ['b', new Set(['c'])],
    ['c', new Set(['b'])],
  ])
  assert.deepEqual(cycleOf(graph), ['b', 'c', 'b'])
})
