import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const folder = mkdtempSync(join(tmpdir(), 'warder-cache-'))
after(() => rmSync(folder, { recursive: true, force: true }))

// As a package lays it out, with a command that says which cache it has.
const bin = join(folder, 'node_modules', 'warder', 'bin')
mkdirSync(bin, { recursive: true })
const entry = readFileSync(join(import.meta.dirname, 'warder.mjs'), 'utf8')
writeFileSync(join(bin, 'warder.mjs'), entry.replace("'../main.ts'", "'../main.mjs'"))
cpSync(join(import.meta.dirname, 'handover.mjs'), join(bin, 'handover.mjs'))
writeFileSync(
  join(bin, '..', 'main.mjs'),
  'export const main = async () => void process.stdout.write(String(process.env.NODE_COMPILE_CACHE))',
)

function cacheWith(env: Readonly<Record<string, string>>): string {
  const { NODE_COMPILE_CACHE: _, XDG_CACHE_HOME: __, ...inherited } = process.env
  const options = { env: { ...inherited, ...env }, encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync(process.execPath, [join(bin, 'warder.mjs')], options)
  assert.equal(stderr, '')
  return stdout
}

test('compiled code of an installed command is kept in the folder of its user, and taken from no other', (t) => {
  const home = join(folder, 'home')
  mkdirSync(home)
  const own = join(home, '.cache', 'warder')
  assert.equal(cacheWith({ HOME: home }), own)
  assert.equal(cacheWith({ HOME: home, XDG_CACHE_HOME: join(home, 'x') }), join(home, 'x', 'warder'))
  assert.equal(cacheWith({ HOME: home, XDG_CACHE_HOME: 'relative' }), own)
  assert.equal(cacheWith({ HOME: home, NODE_COMPILE_CACHE: join(home, 'named') }), join(home, 'named'))
  assert.equal(statSync(own).mode & 0o777, 0o700)
  assert.equal(cacheWith({ HOME: join(folder, 'none', 'home') }), 'undefined')
  assert.ok(!existsSync(join(folder, 'none')))
  if (process.getuid?.() !== 0) return t.diagnostic('the rest takes root')
  chownSync(own, 65534, 65534)
  assert.equal(cacheWith({ HOME: home }), 'undefined')
  chownSync(home, 65534, 65534)
  chownSync(join(home, '.cache'), 65534, 65534)
  // As `sudo` with the home of who calls it.
  assert.equal(cacheWith({ HOME: home }), 'undefined')
})

test('compiled code is not taken from a folder that others can write to, or that a link leads to', () => {
  const open = join(folder, 'open')
  mkdirSync(join(open, 'warder'), { recursive: true })
  chmodSync(join(open, 'warder'), 0o770)
  assert.equal(cacheWith({ XDG_CACHE_HOME: open }), 'undefined')
  chmodSync(join(open, 'warder'), 0o700)
  assert.equal(cacheWith({ XDG_CACHE_HOME: open }), join(open, 'warder'))
  chmodSync(open, 0o1777)
  assert.equal(cacheWith({ XDG_CACHE_HOME: open }), 'undefined')
  const linked = join(folder, 'linked')
  mkdirSync(linked)
  symlinkSync(join(open, 'warder'), join(linked, 'warder'))
  assert.equal(cacheWith({ XDG_CACHE_HOME: linked }), 'undefined')
})
