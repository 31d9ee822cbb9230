import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const folder = mkdtempSync(join(tmpdir(), 'warder-cache-'))
after(() => rmSync(folder, { recursive: true, force: true }))

// As a package lays it out, with a command that says which cache it has.
const bin = join(folder, 'node_modules', 'warder', 'bin')
const home = join(folder, 'home')
for (const each of [bin, home]) mkdirSync(each, { recursive: true })
const entry = readFileSync(join(import.meta.dirname, 'warder.mjs'), 'utf8')
writeFileSync(join(bin, 'warder.mjs'), entry.replace("'../main.ts'", "'../main.mjs'"))
cpSync(join(import.meta.dirname, 'handover.mjs'), join(bin, 'handover.mjs'))
const told = "import { getCompileCacheDir } from 'node:module'\n"
const main = 'export const main = async () => void process.stdout.write(String(getCompileCacheDir()))'
writeFileSync(join(bin, '..', 'main.mjs'), told + main)

function cacheWith(env: Readonly<Record<string, string>>): string {
  const { NODE_COMPILE_CACHE: _, XDG_CACHE_HOME: __, ...inherited } = process.env
  const options = { env: { ...inherited, HOME: home, ...env }, encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync(process.execPath, [join(bin, 'warder.mjs')], options)
  assert.equal(stderr, '')
  return stdout
}

test('an installed command runs no compiled code that lies in a folder, unless it is told to', () => {
  assert.equal(cacheWith({}), 'undefined')
  assert.equal(cacheWith({ XDG_CACHE_HOME: join(home, 'cache') }), 'undefined')
  assert.deepEqual(readdirSync(home), [])
  const named = join(folder, 'named')
  assert.ok(cacheWith({ NODE_COMPILE_CACHE: named }).startsWith(named))
})

test('a command of the checkout keeps its compiled code beside its packages', () => {
  const root = join(folder, 'checkout')
  const command = join(root, 'packages', 'warder')
  mkdirSync(command, { recursive: true })
  cpSync(import.meta.dirname, join(command, 'bin'), { recursive: true })
  writeFileSync(join(command, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(command, 'main.ts'), told + main)
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, [join(command, 'bin', 'warder.mjs')], {
    env,
    encoding: 'utf8',
  })
  const cache = join(root, 'node_modules', '.compile-cache')
  assert.ok(stdout.startsWith(cache), stdout)
  assert.ok(existsSync(cache))
})
