// Reads the exports and imports of the modules of the workspace from their text. For the tests of this folder.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

export interface Declared {
  readonly name: string
  readonly isType: boolean
  /** Its own file uses it, too. */
  readonly usedAtHome: boolean
}

/** An import, or an export from another file. */
interface Link {
  /** Path of the other file. */
  readonly target: string
  /** Its names there and here. */
  readonly names: readonly { readonly name: string; readonly as: string }[]
  /** true: `import *`, `export *`, `import(…)`. */
  readonly whole: boolean
}

export interface Module {
  readonly declared: readonly Declared[]
  readonly reExports: readonly Link[]
  readonly imports: readonly Link[]
}

/** By path from the root; with slashes. */
export type ModuleGraph = ReadonlyMap<string, Module>

const declaration =
  /^export (?:abstract |async )*(const|let|function\*?|class|interface|type) ([A-Za-z_$][\w$]*)/gm
const from = /^(import|export) (?:type )?(?:(\*)(?: as \w+)?|(?:\w+, )?\{([^}]*)\}|\w+)\s+from\s+'([^']+)'/gm
const dynamic = /(?:const \{([^}]*)\} = await )?\bimport\('([^']+)'\)/g

/** Reads all modules below these folders. @param root an absolute path */
export function moduleGraph(root: string, folders: readonly string[]): ModuleGraph {
  const resolve = resolver(root)
  const files = globSync(
    folders.map((folder) => `${folder}/**/*.{ts,tsx,mjs}`),
    { cwd: root, exclude: (name) => name.includes('node_modules') },
  ).map((file) => file.replaceAll('\\', '/'))
  return new Map(
    files.map((file) => [
      file,
      parseModule(readFileSync(join(root, file), 'utf8'), (to) => resolve(file, to)),
    ]),
  )
}

function parseModule(text: string, resolve: (specifier: string) => string | undefined): Module {
  const declared = [...text.matchAll(declaration)].map(([, kind = '', name = '']) => ({
    name,
    isType: kind === 'interface' || kind === 'type',
    usedAtHome:
      (text.match(new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`, 'g')) ?? []).length > 1,
  }))
  const [imports, reExports]: [Link[], Link[]] = [[], []]
  for (const [, kind, star, names = '', specifier = ''] of text.matchAll(from)) {
    const target = resolve(specifier)
    if (target !== undefined)
      (kind === 'export' ? reExports : imports).push({
        target,
        names: parseNames(names),
        whole: star !== undefined,
      })
  }
  for (const [, names, specifier = ''] of text.matchAll(dynamic)) {
    const target = resolve(specifier)
    if (target !== undefined)
      imports.push({ target, names: parseNames(names ?? ''), whole: names === undefined })
  }
  return { declared, reExports, imports }
}

function parseNames(list: string): Link['names'] {
  return list
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter(Boolean)
    .map((part) => {
      const [name = '', as = name] = part.split(/ as |: /)
      return { name, as }
    })
}

/** Finds the file of an import: by path, or by the `exports` of a package of the workspace. */
function resolver(root: string): (file: string, specifier: string) => string | undefined {
  const packages = globSync('packages/*/package.json', { cwd: root }).map((path) => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as {
      name: string
      exports?: Readonly<Record<string, string>>
    }
    return { name, exports, folder: dirname(path) }
  })
  return (file, specifier) => {
    if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier)).replaceAll('\\', '/')
    const found = packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`))
    if (found === undefined) return undefined
    const entry = `.${specifier.slice(found.name.length)}`
    const path = found.exports[entry] ?? found.exports['./*']?.replaceAll('*', entry.slice(2))
    return path === undefined ? undefined : normalize(join(found.folder, path)).replaceAll('\\', '/')
  }
}

/**
 * Imports of these files, directly and through files that export it further: `packages/x/y.ts#name`, also of each file
 * on the way.
 */
export function listImported(graph: ModuleGraph, files: Iterable<string>): ReadonlySet<string> {
  const used = new Set<string>()
  const take = (file: string, name: string): void => {
    const key = `${file}#${name}`
    if (used.has(key)) return
    used.add(key)
    for (const { target, names, whole } of graph.get(file)?.reExports ?? []) {
      if (whole && exportsName(graph, target, name)) take(target, name)
      for (const one of names) if (one.as === name) take(target, one.name)
    }
  }
  for (const file of files)
    for (const { target, names, whole } of graph.get(file)?.imports ?? [])
      for (const name of whole ? listNames(graph, target) : names.map((one) => one.name)) take(target, name)
  return used
}

function exportsName(graph: ModuleGraph, file: string, name: string): boolean {
  return listNames(graph, file).includes(name)
}

function listNames(graph: ModuleGraph, file: string): readonly string[] {
  const module = graph.get(file)
  if (module === undefined) return []
  return [
    ...module.declared.map(({ name }) => name),
    ...module.reExports.flatMap(({ target, names, whole }) =>
      whole ? listNames(graph, target) : names.map(({ as }) => as),
    ),
  ]
}
