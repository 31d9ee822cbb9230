// Every installed dependency carries a permissive licence, and every direct one its line in docs/dependencies.md.
import { existsSync, globSync, readFileSync } from 'node:fs'

const permissive = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'PostgreSQL',
])

/** A tool of tests with a licence for its files alone (weak copyleft): not shipped, not changed (docs/adr/console.md). */
const testTools: ReadonlyMap<string, string> = new Map([['node_modules/axe-core', 'MPL-2.0']])

interface Manifest {
  name?: string
  license?: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const read = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8')) as Manifest
const problems: string[] = []

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, { license?: string; link?: boolean; dev?: boolean }>
}
for (const [path, entry] of Object.entries(lock.packages)) {
  if (entry.link === true || path === '') continue
  const installed = `${path}/package.json`
  const licence = entry.license ?? (existsSync(installed) ? read(installed).license : undefined)
  if (entry.dev === true && licence !== undefined && testTools.get(path) === licence) continue
  // SPDX: of licences joined by OR the user chooses one.
  const choices = licence?.replace(/^\(|\)$/g, '').split(' OR ') ?? []
  if (!choices.some((each) => permissive.has(each))) {
    problems.push(`${path}: licence ${licence ?? 'unknown'} is not on the list of permissive ones`)
  }
}

const reasons = readFileSync('docs/dependencies.md', 'utf8')
const manifests = ['package.json', ...globSync('packages/*/package.json'), 'bench/package.json']
for (const file of manifests) {
  const manifest = read(file)
  if (manifest.license !== 'Apache-2.0') problems.push(`${file}: license must be Apache-2.0`)
  const direct = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }
  for (const [name, version] of Object.entries(direct)) {
    if (name.startsWith('@warder/') || name === 'warder') continue
    if (!/^\d+\.\d+\.\d+/.test(version)) problems.push(`${file}: ${name} must be pinned to one version`)
    if (!reasons.includes(`\`${name}\``))
      problems.push(`${file}: ${name} has no line in docs/dependencies.md`)
  }
}

for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exit(problems.length === 0 ? 0 : 1)
