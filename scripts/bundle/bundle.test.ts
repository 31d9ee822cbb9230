import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { bundle, noticesName } from './bundle.ts'
import { bundledName, entryPoints, root, unbundled } from './entry-points.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-bundle-'))
const code = join(folder, 'code')
before(() => bundle(folder))
after(() => rmSync(folder, { recursive: true, force: true }))

const read = (name: string): string => readFileSync(join(code, name), 'utf8')

test('the bundle has each entry point, and imports nothing but its parts, Node and what is not bundled', () => {
  for (const path of entryPoints) assert.ok(existsSync(join(code, bundledName(path))), path)
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
    entryPoints.some((path) => name === `./${bundledName(path)}`)
  assert.deepEqual([...new Set(foreign.filter((name) => !known(name)))], [])
})

test('the command of the bundle runs, and says the version of the workspace', () => {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
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
