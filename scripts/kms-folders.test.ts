import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const kms = fileURLToPath(new URL('../packages/kms', import.meta.url))

/** Imports of each file of a folder: paths within packages/kms, and names of packages. */
function importsIn(folder: string): ReadonlyMap<string, readonly string[]> {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?\sfrom\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g
  return new Map(
    globSync(`${folder}/**/*.ts`, { cwd: kms }).map((file) => {
      const source = readFileSync(join(kms, file), 'utf8')
      const named = [...source.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? '')
      const targets = named.map((name) =>
        name.startsWith('.')
          ? relative(kms, join(kms, dirname(file), name))
              .split(sep)
              .join('/')
          : name,
      )
      return [file.split(sep).join('/'), targets]
    }),
  )
}

for (const folder of ['keys', 'crypto', 'access', 'jose', 'backend', 'abe', 'authority']) {
  test(`packages/kms/${folder} knows no protocol: it imports no kms/api, and @warder/kmip in keys/attributes and keys/creation alone`, () => {
    const files = importsIn(folder)
    assert.ok(files.size > 0)
    for (const [file, targets] of files)
      for (const target of targets) assert.ok(isForKeys(file, target), `${file} imports ${target}`)
  })
}

/** Attributes have the names and types of KMIP, whose tables are a pure package. */
function isForKeys(file: string, target: string): boolean {
  if (target.startsWith('api/')) return false
  return !/^@warder\/kmip(?:\/|$)/.test(target) || /^keys\/(?:attributes|creation)\//.test(file)
}

test('packages/kms/api/rest knows nothing of KMIP: it imports neither @warder/kmip nor api/kmip', () => {
  const files = [...importsIn('api/rest')].filter(([file]) => !file.endsWith('.test.ts'))
  assert.ok(files.length > 20)
  for (const [file, targets] of files)
    for (const target of targets)
      assert.doesNotMatch(target, /^(?:@warder\/kmip(?:\/|$)|api\/kmip\/)/, `${file} imports ${target}`)
})
